package rest

import (
	"cmp"
	"html/template"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/health"
)

// indexPage lists the endpoints by plugin. Endpoints that a browser can open
// without parameters are links.
const indexPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Build.App}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h2 { font-size: 1rem; margin: 1.5rem 0 .2rem; color: #666 }
table { border-collapse: collapse; width: 100% }
td { padding: .15rem .8rem .15rem 0; vertical-align: top }
td:first-child { width: 6rem; color: #888 } td:nth-child(2) { width: 24rem; font-family: monospace }
.OK { color: #080 } .INIT, .DEGRADED { color: #a60 } .ERROR { color: #b00 }
</style></head><body>
<h1>{{.Build.App}} <small>{{.Build.Version}}</small></h1>
<p>State: <b class="{{.Health.State}}">{{.Health.State}}</b>{{if .Up}}, up {{.Up}}{{end}}</p>
{{range .Health.Plugins}}{{if not .State.Well}}<p class="{{.State}}">{{.Name}}: {{.State}} {{.Reason}} {{.Error}}</p>
{{end}}{{end}}{{range .Groups}}<h2>{{.Plugin}}</h2>
<table>{{range .Endpoints}}<tr><td>{{join .Methods " "}}</td><td>{{if linkable .}}<a href="{{path .}}">{{path .}}</a>{{else}}{{path .}}{{end}}</td><td>{{.Doc}}</td></tr>
{{end}}</table>
{{end}}</body></html>
`

func parseIndex() (*template.Template, error) {
	return template.New("index").Funcs(template.FuncMap{
		"join": strings.Join,
		"path": func(e Endpoint) string { return strings.TrimSuffix(e.Path, "{$}") },
		"linkable": func(e Endpoint) bool {
			return e.Methods[0] == http.MethodGet && !strings.Contains(strings.TrimSuffix(e.Path, "{$}"), "{")
		},
	}).Parse(indexPage)
}

// facts is the data of the index page.
type facts struct {
	Build  infra.Build
	Up     string
	Health health.Snapshot
	Groups []group
}

func (p *Plugin) index(w http.ResponseWriter, _ *http.Request) {
	page, err := parseIndex()
	if err != nil {
		WriteError(w, http.StatusInternalServerError, err)
		return
	}
	f := facts{Build: infra.Build{App: "agent"}, Groups: p.routes().list()}
	if p.host != nil {
		f.Build, f.Health = p.host.Build(), p.host.Health().Snapshot()
		f.Up = time.Since(p.host.StartTime()).Round(time.Second).String()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, f) // fails only if the client has disconnected
}

// Version is the response of /info/version.
type Version struct {
	App        string
	Version    string
	GitCommit  string
	GitBranch  string
	BuildUser  string
	BuildHost  string
	BuildTime  int64 // seconds since 1970; 0 if unknown
	GoVersion  string
	OS         string
	Arch       string
	APIVersion string
	OSType     string
}

// unknown stands for what the build does not tell.
const unknown = "unknown"

// VersionOf describes a build for clients of /info/version.
func VersionOf(b infra.Build) Version {
	return Version{
		App: b.App, Version: b.Version, GitCommit: cmp.Or(b.Commit, unknown), GitBranch: unknown,
		BuildUser: unknown, BuildHost: unknown, BuildTime: buildTime(b.Date),
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
}

func (p *Plugin) version(w http.ResponseWriter, _ *http.Request) {
	var b infra.Build
	if p.host != nil {
		b = p.host.Build()
	}
	WriteJSON(w, http.StatusOK, VersionOf(b))
}

// buildTime parses the formats of build dates.
func buildTime(date string) int64 {
	if n, err := strconv.ParseInt(date, 10, 64); err == nil {
		return n
	}
	for _, layout := range []string{time.RFC3339, time.UnixDate, time.DateTime} {
		if t, err := time.Parse(layout, date); err == nil {
			return t.Unix()
		}
	}
	return 0
}
