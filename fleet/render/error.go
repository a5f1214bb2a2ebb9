package render

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// Error is an error in an object, or in the configuration of an agent.
type Error struct {
	document.Position        // in the template or the pool; the zero value if it was not read from a file
	Agent             string // empty: it concerns all
	Config            string // the NetworkConfig
	Pool              string
	Peer              string // of forEach
	Path              string // in the template: "vppConfig.interfaces[2].ipAddresses[0]"
	Msg               string
}

// Error returns "AGENT: PATH: MESSAGE (NetworkConfig NAME, FILE:LINE:COLUMN)".
func (e *Error) Error() string {
	var b strings.Builder
	for _, p := range []string{e.Agent, e.Path} {
		if p != "" {
			b.WriteString(p + ": ")
		}
	}
	b.WriteString(e.Msg)
	var origin []string
	for _, o := range [][2]string{{"NetworkConfig ", e.Config}, {"pool ", e.Pool}, {"peer ", e.Peer}} {
		if o[1] != "" {
			origin = append(origin, o[0]+o[1])
		}
	}
	if place := strings.TrimSuffix((&document.Error{Position: e.Position}).Error(), ": "); place != "" {
		origin = append(origin, place)
	}
	if len(origin) > 0 {
		b.WriteString(" (" + strings.Join(origin, ", ") + ")")
	}
	return b.String()
}
