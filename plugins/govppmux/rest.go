package govppmux

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// maxCommand bounds the body of a command request.
const maxCommand = 64 << 10

func (p *Plugin) endpoints() []rest.Endpoint {
	return []rest.Endpoint{
		{Path: "/govppmux/stats", Groups: []string{rest.GroupStats}, Handler: p.ServeStats, Response: statsResponse{}, Doc: "the session with VPP and counters of requests"},
		{
			Path: "/vpp/telemetry", Groups: []string{rest.GroupTelemetry}, Handler: p.ServeTelemetry, Response: []commandOutput{},
			Doc: "the output of commands of VPP that show its counters, memory and routes",
		},
		{
			Path: "/vpp/capabilities", Groups: []string{rest.GroupStats}, Handler: p.ServeCapabilities, Response: capabilitiesResponse{},
			Doc: "what the connected VPP can do, and what it lacks for items that are UNIMPLEMENTED",
		},
		{
			Path: "/vpp/command", Methods: []string{http.MethodPost}, Handler: p.ServeCommand, Response: "",
			Doc: `run a command of VPP's command line, given as {"vppclicommand": "show version"}`,
		},
	}
}

// sessionInfo is a Session as JSON.
type sessionInfo struct {
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since,omitzero"`
	Epoch     uint64    `json:"epoch"`
	Error     string    `json:"error,omitempty"`
	Version   string    `json:"version,omitempty"`
	BuildDate string    `json:"buildDate,omitempty"`
	PID       uint32    `json:"pid,omitempty"`
	Simulated bool      `json:"simulated"`
	Messages  int       `json:"messages,omitempty"`
	Socket    string    `json:"socket"`
}

func (p *Plugin) sessionInfo() sessionInfo {
	s := p.Session()
	info := sessionInfo{
		Connected: s.Up, Since: s.Since, Epoch: s.Epoch, Version: s.Version.Version,
		BuildDate: s.Version.BuildDate, PID: s.PID, Simulated: s.Simulated, Socket: p.cfg.BinAPISocketPath,
	}
	if s.Err != nil {
		info.Error = s.Err.Error()
	}
	if s.Conn != nil {
		info.Messages = s.Conn.Table().Len()
	}
	return info
}

// statsResponse is the response of /govppmux/stats. The fields of formerStats are those
// of the predecessor.
type statsResponse struct {
	Session sessionInfo `json:"session"`
	Stats
	formerStats
}

// formerStats are counters under the names of the predecessor. A connection is one
// channel. The time of single requests is not measured: thousands are under way at once.
type formerStats struct {
	ChannelsCreated uint64 `json:"channels_created"`
	ChannelsOpen    uint64 `json:"channels_open"`
	RequestsSent    uint64 `json:"requests_sent"`
	RequestsDone    uint64 `json:"requests_done"`
	RequestsFail    uint64 `json:"requests_fail,omitempty"`
	RequestReplies  uint64 `json:"request_replies"`
	Errors          []struct{}
	AllMessages     struct {
		Count uint64 `json:"count"`
	}
	Messages []messageCount // by count
	Replies  []messageCount
}

// messageCount is the number of messages of a kind.
type messageCount struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// byCount returns counts, the largest first.
func byCount(counts map[string]uint64) []messageCount {
	list := []messageCount{}
	for name, n := range counts {
		list = append(list, messageCount{name, n})
	}
	slices.SortFunc(list, func(a, b messageCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return list
}

func (p *Plugin) formerStats() formerStats {
	session, s := p.Session(), p.Stats()
	sent, received := p.totals.messages()
	f := formerStats{
		ChannelsCreated: session.Epoch, RequestsSent: s.Requests, RequestsDone: s.Done(), RequestsFail: s.Failed(), RequestReplies: s.Replies,
		Errors: []struct{}{}, Messages: byCount(sent), Replies: byCount(received),
	}
	if session.Up {
		f.ChannelsOpen = 1
	}
	f.AllMessages.Count = s.Requests
	return f
}

// ServeStats answers with the session and the counters as JSON.
func (p *Plugin) ServeStats(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, http.StatusOK, statsResponse{p.sessionInfo(), p.Stats(), p.formerStats()})
}

// ServeCommand runs the command of {"vppclicommand": "..."} and answers with
// what it prints, as a JSON string.
func (p *Plugin) ServeCommand(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Command string `json:"vppclicommand"`
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommand))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		rest.WriteError(w, http.StatusBadRequest, fmt.Errorf(`body: expected {"vppclicommand": "..."}: %w`, err))
		return
	}
	if strings.TrimSpace(req.Command) == "" {
		rest.WriteError(w, http.StatusBadRequest, errors.New("vppclicommand: expected a command"))
		return
	}
	out, err := p.RunCLI(r.Context(), req.Command)
	switch {
	case errors.Is(err, binapi.ErrDisconnected):
		rest.WriteError(w, http.StatusServiceUnavailable, err)
	case err != nil:
		rest.WriteError(w, http.StatusBadGateway, err)
	default:
		rest.WriteJSON(w, http.StatusOK, out)
	}
}
