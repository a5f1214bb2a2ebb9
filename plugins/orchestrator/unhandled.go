package orchestrator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck/status"
)

// Unhandled are keys of a store, below the prefix of the agent, that neither a model
// nor another plugin handles. They have no effect.
type Unhandled struct {
	Prefix string `json:"prefix"` // common prefix of the keys
	Keys   int    `json:"keys"`   // number of keys
	// Suggestion is the prefix that was probably intended; empty if none is
	// similar, in which case the keys probably do not belong to the configuration.
	Suggestion string `json:"did_you_mean,omitempty"`
}

// String returns a text such as "vpp/config/v2/nat44/ (2 keys; did you mean
// config/vpp/nat/v2/...?)".
func (u Unhandled) String() string {
	text := u.Prefix + " (" + count(u.Keys, "key")
	if u.Suggestion != "" {
		text += "; did you mean " + u.Suggestion + "...?"
	}
	return text + ")"
}

// unhandledKeys are the keys of one store without a model.
type unhandledKeys struct {
	groups map[string]*unhandledGroup // by prefix
	logged map[string]bool            // prefixes that were logged
}

// unhandledGroup are the keys with a prefix. The suggestion is for the first key.
type unhandledGroup struct {
	keys       map[string]bool
	first      string
	suggestion string
}

// note records keys that exist, or that were deleted. It returns the new prefixes.
func (u *unhandledKeys) note(items []incoming, suggest func(key string) string) (news []string) {
	if u.groups == nil {
		u.groups = map[string]*unhandledGroup{}
	}
	if u.logged == nil {
		u.logged = map[string]bool{}
	}
	for _, item := range items {
		key := item.GetKey()
		prefix := groupOf(key)
		group := u.groups[prefix]
		switch {
		case item.deleted && group == nil:
			continue
		case item.deleted:
			if delete(group.keys, key); len(group.keys) == 0 {
				delete(u.groups, prefix)
			}
			continue
		case group == nil:
			u.groups[prefix] = &unhandledGroup{map[string]bool{key: true}, key, suggest(key)}
		default:
			group.keys[key] = true
		}
		if !u.logged[prefix] {
			u.logged[prefix] = true
			news = append(news, prefix)
		}
	}
	return news
}

// groupDepth is the number of common segments of keys in one group.
const groupDepth = 4

// groupOf returns the prefix of a key's group: its first segments.
func groupOf(key string) string {
	at := 0
	for range groupDepth {
		next := strings.IndexByte(key[at:], '/')
		if next < 0 {
			break
		}
		at += next + 1
	}
	if at == 0 {
		return key
	}
	return key[:at]
}

// published reports whether agents publish the key; see publish.go.
func published(key string) bool {
	for _, prefix := range []string{StatusPrefix, status.Prefix, announced.Prefix, announced.HolderPrefix, "vpp/status/", "linux/status/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// configuration returns the items of a store that belong to the configuration, and
// records the others.
func (p *Plugin) configuration(s *watched, items []incoming, resync bool) []incoming {
	ours := items[:0]
	var others []incoming
	prefixes := p.keyPrefixes()
	for _, item := range items {
		key := item.GetKey()
		isOurs := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		if isOurs {
			ours = append(ours, item)
		} else if !published(key) {
			others = append(others, item)
		}
	}
	if len(others) == 0 && !resync {
		return ours
	}
	p.mu.Lock()
	if resync {
		s.unhandled.groups = nil
	}
	news := s.unhandled.note(others, p.Codec.SuggestPrefix)
	all := p.unhandledOf(s)
	p.mu.Unlock()
	for _, u := range all {
		if slices.Contains(news, u.Prefix) {
			p.Log.Warn("keys of the store have no effect: no model handles them", "source", s.name, "prefix", u.Prefix,
				"keys", u.Keys, "did-you-mean", u.Suggestion)
		}
	}
	return ours
}

// unhandledOf returns the keys of a store that neither a model nor another receiver
// handles. The lock is held.
func (p *Plugin) unhandledOf(s *watched) []Unhandled {
	var all []Unhandled
	for _, prefix := range slices.Sorted(maps.Keys(s.unhandled.groups)) {
		group := s.unhandled.groups[prefix]
		if s.receivers != nil && slices.ContainsFunc(s.receivers(group.first), func(name string) bool { return name != p.String() }) {
			continue
		}
		all = append(all, Unhandled{Prefix: prefix, Keys: len(group.keys), Suggestion: group.suggestion})
	}
	return all
}

// maxUnhandled is the maximum number of prefixes in the health report.
const maxUnhandled = 5

// unhandledText describes the keys of all stores that have no effect; empty if there
// are none. meant reports whether some were probably intended as configuration. The
// lock is held.
func (p *Plugin) unhandledText() (text string, meant bool) {
	var texts []string
	keys := 0
	for _, s := range p.stores {
		for _, u := range p.unhandledOf(s) {
			keys += u.Keys
			meant = meant || u.Suggestion != ""
			texts = append(texts, fmt.Sprintf("%s: %v", s.name, u))
		}
	}
	if keys == 0 {
		return "", false
	}
	if more := len(texts) - maxUnhandled; more > 0 {
		texts = append(texts[:maxUnhandled], "and "+fmt.Sprint(more, " more"))
	}
	return fmt.Sprintf("no model handles %s: %s", count(keys, "key"), strings.Join(texts, ", ")), meant
}

// didYouMean returns a suggestion for a key without a model.
func (p *Plugin) didYouMean(key string) string {
	if prefix := p.Codec.SuggestPrefix(key); prefix != "" {
		return "; did you mean " + prefix + "...?"
	}
	return ""
}
