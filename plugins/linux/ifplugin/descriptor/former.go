package descriptor

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// formerState is the name under which the state-dir has what parameters were.
const formerState = "linux-interface-sysctl"

// State keeps values over restarts; see kvscheduler.Scheduler.
type State interface {
	LoadState(name string) (map[string][]byte, error)
	SaveState(name string, put map[string][]byte, all bool) error
}

// linkID is a link.
type linkID struct {
	Namespace netlinkapi.NamespaceID
	Index     int
}

// formerValue is what a parameter or a property of a link was before the agent set it.
type formerValue struct {
	Link  linkID
	Name  string
	Value int
	// current: it was read by this process.
	current bool
}

// Former remembers what kernel parameters, and the state, the MTU and the MAC address of links, were
// before the agent set them: with a state-dir over a restart, else in this process. Without a record
// a parameter stays as it is. The methods may be called concurrently.
type Former struct {
	state State
	log   logging.Logger

	mu     sync.Mutex
	values map[string]formerValue // by the keys of the derived values; nil: not loaded
	byLink map[linkID][]string    // keys
}

// NewFormer returns a memory that is kept in a state.
func NewFormer(state State, log logging.Logger) *Former { return &Former{state: state, log: log} }

// load reads what earlier processes remembered.
func (f *Former) load() {
	if f.values != nil {
		return
	}
	f.values, f.byLink = map[string]formerValue{}, map[linkID][]string{}
	kept, err := f.state.LoadState(formerState)
	if err != nil {
		f.log.Warn("what kernel parameters of interfaces were before is not known: they stay as they are", "error", err)
	}
	for key, data := range kept {
		var v formerValue
		if err := json.Unmarshal(data, &v); err != nil {
			f.log.Warn("a kernel parameter stays as it is, because its record cannot be read", "key", key, "error", err)
			continue
		}
		f.put(key, v)
	}
}

func (f *Former) put(key string, v formerValue) {
	f.remove(key)
	f.values[key] = v
	f.byLink[v.Link] = append(f.byLink[v.Link], key)
}

func (f *Former) remove(key string) {
	link := f.values[key].Link
	f.byLink[link] = slices.DeleteFunc(f.byLink[link], func(k string) bool { return k == key })
	if len(f.byLink[link]) == 0 {
		delete(f.byLink, link)
	}
	delete(f.values, key)
}

// remember records what a parameter is now that the agent is about to set. What is on record
// counts: of this process, or if the parameter still has the value that it is to have.
func (f *Former) remember(key string, link linkID, name string, now, want int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.load()
	if before, known := f.values[key]; known && before.Link == link && (before.current || now == want) {
		return
	}
	v := formerValue{Link: link, Name: name, Value: now, current: true}
	f.put(key, v)
	data, err := json.Marshal(v)
	if err != nil {
		f.log.Warn("a kernel parameter will not be restored after a restart", "key", key, "error", err)
		return
	}
	f.save(key, data)
}

// save keeps a record; nil deletes it. The scheduler reports if nothing can be kept.
func (f *Former) save(key string, data []byte) {
	if err := f.state.SaveState(formerState, map[string][]byte{key: data}, false); err != nil {
		f.log.Debug("what a kernel parameter was before is not kept over a restart", "key", key, "error", err)
	}
}

// of returns what the parameter was.
func (f *Former) of(key string, link linkID) (value int, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.load()
	v, known := f.values[key]
	return v.Value, known && v.Link == link
}

// ofAnyLink is of for whichever link had the parameter last. A nil Former knows nothing.
func (f *Former) ofAnyLink(key string) (value int, known bool) {
	if f == nil {
		return 0, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.load()
	v, known := f.values[key]
	return v.Value, known
}

// names lists the kernel parameters of a link that the agent has set.
func (f *Former) names(link linkID) (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.load()
	for _, key := range f.byLink[link] {
		name := f.values[key].Name
		if _, _, parameter := netlinkapi.SysctlRange(name); parameter { // not a property
			names = append(names, name)
		}
	}
	return names
}

// forget drops a record.
func (f *Former) forget(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.load()
	if _, known := f.values[key]; known {
		f.remove(key)
		f.save(key, nil)
	}
}
