package restapi

import (
	"net/http"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// jsonQueue is what waits for its turn; times are in seconds.
type jsonQueue struct {
	Length    int
	Capacity  int
	Waiting   map[string]int // by class
	OldestAge float64
	Running   *jsonRunningTxn `json:",omitempty"`
	Changes   *jsonChanges    `json:",omitempty"`
}

type jsonRunningTxn struct {
	Class       string
	Description string `json:",omitempty"`
	For         float64
	Progress    *api.Progress `json:",omitempty"`
}

// jsonChanges is what waits before the queue.
type jsonChanges struct {
	Capacity int
	Waiting  int
	Clients  int
	Sources  map[string]int
	// Most has the most clients waiting, so many.
	Most        string `json:",omitempty"`
	MostWaiting int    `json:",omitempty"`
	OldestAge   float64
	Closed      bool               `json:",omitempty"`
	Running     *jsonRunningChange `json:",omitempty"`
	Refused     uint64
	Canceled    uint64
}

type jsonRunningChange struct {
	Source string `json:",omitempty"`
	What   string
	For    float64
}

func (s *server) queue(*http.Request, arguments) (answer, error) {
	var q api.QueueStatus
	if s.Queue != nil {
		q = s.Queue()
	}
	out := jsonQueue{Length: q.Length, Capacity: q.Capacity, Waiting: q.Waiting, OldestAge: q.OldestAge.Seconds(), Changes: changesOf(q.Changes)}
	if r := q.Running; r != nil {
		out.Running = &jsonRunningTxn{r.Class, r.Description, r.For.Seconds(), r.Progress}
	}
	return asJSON(out), nil
}

func changesOf(ch *api.ChangesStatus) *jsonChanges {
	if ch == nil {
		return nil
	}
	out := &jsonChanges{
		Capacity: ch.Capacity, Waiting: ch.Waiting, Clients: ch.Clients, Sources: ch.Sources, Most: ch.Most, MostWaiting: ch.MostWaiting,
		OldestAge: ch.OldestAge.Seconds(), Closed: ch.Closed, Refused: ch.Refused, Canceled: ch.Canceled,
	}
	if r := ch.Running; r != nil {
		out.Running = &jsonRunningChange{r.Source, r.What, r.For.Seconds()}
	}
	return out
}
