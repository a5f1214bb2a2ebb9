// Package webui is the plugin with the pages for the browser, at /ui of the HTTP server:
// values and their graph, transactions, plans, drift, orphans and counters of VPP.
//
// The pages are static files in the program, which load nothing from other hosts. They ask
// the endpoints of the agent, so that a user sees and changes in the browser what the
// permissions in http.conf allow, and nothing else.
package webui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// Path is where the pages are.
const Path = "/ui/"

//go:embed static
var static embed.FS

// policy permits nothing but the files of the agent, and no other page to show these in
// a frame.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// DefaultName is the name of the plugin.
const DefaultName = "webui"

// Plugin serves the pages.
type Plugin struct {
	Deps

	files map[string]file // by path below Path
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// HTTP serves the pages.
	HTTP rest.HTTPHandlers
}

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() { p.SetDefaultName(DefaultName) }

// file is a static file.
type file struct {
	data            []byte
	mediaType, etag string
}

// Init registers the pages.
func (p *Plugin) Init() error {
	if err := p.load(); err != nil {
		return err
	}
	return p.HTTP.Register(p.String(),
		rest.Endpoint{Path: Path, Handler: p.serve, Page: "web interface",
			Doc: "pages for the browser: values, transactions, plans, drift, orphans, counters"},
		rest.Endpoint{Path: strings.TrimSuffix(Path, "/"), Handler: redirect, Doc: "leads to " + Path})
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, Path, http.StatusPermanentRedirect)
}

// mediaTypes returns the media types of the files by their extensions. The tables of the
// operating system may differ.
func mediaTypes() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml", ".md": "text/plain; charset=utf-8", ".LICENSE": "text/plain; charset=utf-8",
	}
}

func (p *Plugin) load() error {
	p.files = map[string]file{}
	types := mediaTypes()
	return fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		f := file{data: data, mediaType: types[path.Ext(name)]}
		if f.mediaType == "" {
			return fmt.Errorf("static file %s: no media type is known", name)
		}
		sum := sha256.Sum256(data)
		f.etag = `"` + hex.EncodeToString(sum[:16]) + `"`
		p.files[strings.TrimPrefix(name, "static/")] = f
		return nil
	})
}

var errNoFile = errors.New("no such page; expected " + Path)

func (p *Plugin) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Path)
	if name == "" {
		name = "index.html"
	}
	f, ok := p.files[name]
	if !ok {
		rest.WriteError(w, http.StatusNotFound, fmt.Errorf("%s: %w", r.URL.Path, errNoFile))
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache") // the browser asks whether the file has changed
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}
