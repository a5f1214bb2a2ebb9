package orchestrator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxRefused bounds the refused items of clients that are remembered, for each
// source.
const maxRefused = 100

// NoteRefused remembers items of a request of a client that were refused, for
// those who ask why they have no effect; a good value of the key, or a resync
// of the source, makes it void. The request as a whole had no effect.
func (p *Plugin) NoteRefused(source string, items ...Rejected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.report(source)
	for _, item := range items {
		if item.Key == "" {
			continue
		}
		if r.refused == nil {
			r.refused = map[string]refusal{}
		}
		r.refused[item.Key] = refusal{item, time.Now()}
	}
	for len(r.refused) > maxRefused {
		oldest := ""
		for key, item := range r.refused {
			if oldest == "" || item.at.Before(r.refused[oldest].at) {
				oldest = key
			}
		}
		delete(r.refused, oldest)
	}
}

// refusal is an item of a request that was refused.
type refusal struct {
	Rejected
	at time.Time
}

// accept makes void what was refused before of the items. The lock is held.
func (p *Plugin) accept(ch *change) {
	r := p.report(ch.source)
	if ch.resync {
		clear(r.refused)
	}
	if len(r.refused) == 0 {
		return
	}
	for i := range ch.items {
		delete(r.refused, ch.items[i].Key)
	}
}

// refusals says which sources have a value of a key that is refused, and why. Of
// what clients were told to their face nothing is said if the key has a value.
func (p *Plugin) refusals(key string, asked bool) string {
	var texts []string
	p.mu.RLock()
	for source, r := range p.reports {
		if item, ok := r.rejected[key]; ok {
			texts = append(texts, fmt.Sprintf("%s has a value that is refused: %s", source, item.text()))
		}
		if item, ok := r.refused[key]; ok && !asked {
			texts = append(texts, fmt.Sprintf("a request of a client (%s) was refused at %s, as a whole: %s",
				source, item.at.UTC().Format(time.RFC3339), item.text()))
		}
	}
	p.mu.RUnlock()
	for _, w := range flatten(p.Watcher) {
		if refuser, ok := w.(interface{ Refused(key string) error }); ok {
			if err := refuser.Refused(key); err != nil {
				texts = append(texts, fmt.Sprintf("%s has a value that is refused: %s", sourceName(w), strings.ReplaceAll(err.Error(), "\n", "; ")))
			}
		}
	}
	if len(texts) == 0 {
		return ""
	}
	slices.Sort(texts)
	text := strings.Join(texts, "; ")
	if asked {
		return text + "; what it had before stays in force"
	}
	return text
}

// text says what is wrong, and where.
func (r *Rejected) text() string {
	return strings.TrimPrefix(r.Location+": "+r.Err.Error(), ": ")
}

// noteInvalid remembers the results of items that were refused.
func (p *Plugin) noteInvalid(source string, items []KeyVal, results []Result) {
	var refused []Rejected
	for i := range results {
		if results[i].Err != nil {
			refused = append(refused, Rejected{Key: items[i].Key, Location: items[i].Location.Text(items[i].Key), Err: results[i].Err})
		}
	}
	p.NoteRefused(source, refused...)
}

// refusedOf makes of what is wrong with the body of a request what is
// remembered.
func refusedOf(problems []problem) []Rejected {
	refused := make([]Rejected, 0, len(problems))
	for _, pr := range problems {
		err := errors.New(pr.Error)
		if pr.Path != "" {
			err = fmt.Errorf("%s: %w", strings.TrimPrefix(strings.TrimPrefix(pr.Path, pr.item), ": "), err)
		}
		refused = append(refused, Rejected{Key: pr.item, Err: err})
	}
	return refused
}
