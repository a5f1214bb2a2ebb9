package orchestrator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxRefused is the maximum number of recorded rejected items of clients, for
// each source.
const maxRefused = 100

// NoteRefused records rejected items of a client's request, to explain later
// why they have no effect. A valid value of the key, or a resync of the
// source, removes the record. The request as a whole had no effect.
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

// refusal is a rejected item of a request.
type refusal struct {
	Rejected
	at time.Time
}

// accept removes the records of rejected items that the change replaces. The
// lock is held.
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

// refusals describes the sources whose value of a key is rejected, with the
// reasons. It omits rejected requests of clients if the key has a value.
func (p *Plugin) refusals(key string, asked bool) string {
	var texts []string
	p.mu.RLock()
	for source, r := range p.reports {
		if item, ok := r.rejected[key]; ok {
			texts = append(texts, fmt.Sprintf("%s has an invalid value: %s", source, item.text()))
		}
		if item, ok := r.refused[key]; ok && !asked {
			texts = append(texts, fmt.Sprintf("a request of a client (%s) was rejected at %s as a whole: %s",
				source, item.at.UTC().Format(time.RFC3339), item.text()))
		}
	}
	p.mu.RUnlock()
	for _, w := range flatten(p.Watcher) {
		if refuser, ok := w.(interface{ Refused(key string) error }); ok {
			if err := refuser.Refused(key); err != nil {
				texts = append(texts, fmt.Sprintf("%s has an invalid value: %s", sourceName(w), strings.ReplaceAll(err.Error(), "\n", "; ")))
			}
		}
	}
	if len(texts) == 0 {
		return ""
	}
	slices.Sort(texts)
	text := strings.Join(texts, "; ")
	if asked {
		return text + "; its previous value stays in effect"
	}
	return text
}

// text describes the error and its position.
func (r *Rejected) text() string {
	return strings.TrimPrefix(r.Location+": "+r.Err.Error(), ": ")
}

// noteInvalid records the results of rejected items.
func (p *Plugin) noteInvalid(source string, items []KeyVal, results []Result) {
	var refused []Rejected
	for i := range results {
		if results[i].Err != nil {
			refused = append(refused, Rejected{Key: items[i].Key, Location: items[i].Location.Text(items[i].Key), Err: results[i].Err})
		}
	}
	p.NoteRefused(source, refused...)
}

// refusedOf converts the problems in the body of a request to rejected items.
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
