package queue

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"

// News holds the latest notification of a southbound for each key.
type News struct {
	Values []api.RecordedKVPair          // without Value: the value does not exist
	Meta   map[string]api.Metadata       // by key
	at     map[string]int                // of a key in Values
	gone   map[string]api.RecordedKVPair // removals of values that exist again
}

// NewNews returns the News of a sequence of notifications.
func NewNews(notifications []api.KVWithMetadata) *News {
	n := &News{Meta: make(map[string]api.Metadata, len(notifications)), at: make(map[string]int, len(notifications))}
	for _, kv := range notifications {
		n.note(api.RecordedKVPair{Key: kv.Key, Value: kv.Value, Origin: api.FromSB}, kv.Metadata)
	}
	return n
}

// note replaces the notification of a key.
func (n *News) note(kv api.RecordedKVPair, meta api.Metadata) {
	i, known := n.at[kv.Key]
	if !known {
		n.at[kv.Key] = len(n.Values)
		n.Values = append(n.Values, kv)
	} else {
		if kv.Value != nil && n.Values[i].Value == nil {
			if n.gone == nil {
				n.gone = map[string]api.RecordedKVPair{}
			}
			n.gone[kv.Key] = n.Values[i]
		}
		n.Values[i] = kv
	}
	n.Meta[kv.Key] = meta
}

// merge adds later notifications.
func (n *News) merge(later *News) {
	for _, kv := range later.Values {
		if gone, ok := later.gone[kv.Key]; ok {
			n.note(gone, nil)
		}
		n.note(kv, later.Meta[kv.Key])
	}
}

// TakeGone returns the removals of values that exist again. They have to be executed
// first, so that dependents are created again. It returns nil if there are none, and
// after the first call.
func (n *News) TakeGone() *News {
	var list []api.KVWithMetadata
	for i := range n.Values {
		if kv, ok := n.gone[n.Values[i].Key]; ok && n.Values[i].Value != nil {
			list = append(list, api.KVWithMetadata{Key: kv.Key})
		}
	}
	n.gone = nil
	if list == nil {
		return nil
	}
	return NewNews(list)
}
