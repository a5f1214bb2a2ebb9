package rest

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
)

// indexHead is the beginning of the index page. It is not a template of the standard
// library, because a program with one keeps all exported methods of all types, which adds a
// quarter to its size.
const indexHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>%[1]s</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h2 { font-size: 1rem; margin: 1.5rem 0 .2rem; color: #666 }
table { border-collapse: collapse; width: 100%% }
td { padding: .15rem .8rem .15rem 0; vertical-align: top }
td:first-child { width: 6rem; color: #888 } td:nth-child(2) { width: 24rem; font-family: monospace }
.OK { color: #080 } .INIT, .DEGRADED { color: #a60 } .ERROR { color: #b00 }
</style></head><body>
<h1>%[1]s <small>%[2]s</small></h1>
`

// indexPage returns the page that lists the endpoints by plugin. Endpoints that a browser
// can open without parameters are links. h is nil without an agent.
func indexPage(h infra.Host, groups []group) []byte {
	var page bytes.Buffer
	write := func(format string, texts ...any) {
		for i, text := range texts {
			texts[i] = html.EscapeString(fmt.Sprint(text))
		}
		fmt.Fprintf(&page, format, texts...)
	}
	build := infra.Build{App: "agent"}
	if h != nil {
		build = h.Build()
	}
	write(indexHead, build.App, build.Version)
	if h != nil {
		state := h.Health().Snapshot()
		write("<p>State: <b class=\"%[1]s\">%[1]s</b>, up %[2]s</p>\n", state.State, time.Since(h.StartTime()).Round(time.Second))
		for _, p := range state.Plugins {
			if !p.State.Well() {
				write("<p class=\"%[2]s\">%[1]s: %[2]s %[3]s %[4]s</p>\n", p.Name, p.State, p.Reason, p.Error)
			}
		}
	}
	for _, g := range groups {
		for _, e := range g.Endpoints {
			if e.Page != "" {
				write("<p><a href=\"%s\">%s</a></p>\n", strings.TrimSuffix(e.Path, "{$}"), e.Page)
			}
		}
	}
	for _, g := range groups {
		write("<h2>%s</h2>\n<table>", g.Plugin)
		for _, e := range g.Endpoints {
			path, format := strings.TrimSuffix(e.Path, "{$}"), "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n"
			if e.Methods[0] == http.MethodGet && !strings.Contains(path, "{") {
				format = "<tr><td>%s</td><td><a href=\"%[2]s\">%[2]s</a></td><td>%[3]s</td></tr>\n"
			}
			write(format, strings.Join(e.Methods, " "), path, e.Doc)
		}
		write("</table>\n")
	}
	write("</body></html>\n")
	return page.Bytes()
}

func (p *Plugin) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(indexPage(p.host, p.routes().list())) // fails only if the client has disconnected
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

// unknown stands for what the build does not report.
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
