package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// fullKey converts MODEL/NAME and keys with an agent's prefix to keys of the
// scheduler.
func (a *app) fullKey(key string) string {
	if rest, ok := strings.CutPrefix(key, "/vnf-agent/"); ok {
		_, key, _ = strings.Cut(rest, "/")
		return key
	}
	model, name, _ := strings.Cut(key, "/")
	m, ok := a.set().ForName(model)
	switch {
	case !ok:
		return key
	case m.Singleton():
		return m.KeyPrefix()
	}
	return m.KeyPrefix() + name
}

// shortKey is the reverse of fullKey: MODEL/NAME for the key of an item, and other keys
// as they are.
func (a *app) shortKey(key string) string {
	m, ok := a.set().ForKey(key)
	switch {
	case !ok || !m.Matches(key):
		return key
	case m.Singleton():
		return m.Spec().ModelName()
	}
	return m.Spec().ModelName() + "/" + m.Label(key)
}

// itemKeys are keys of items in texts.
var itemKeys = regexp.MustCompile(`\bconfig/[^\s,;()"]*[^\s,;()":]`)

// shortText returns a text with short keys.
func (a *app) shortText(text string) string { return itemKeys.ReplaceAllStringFunc(text, a.shortKey) }

func (a *app) fullKeys(keys []string) (full []string) {
	for _, key := range keys {
		full = append(full, a.fullKey(key))
	}
	return full
}

// keysAmong separates keys, which contain a slash, from names and patterns of
// models.
func (a *app) keysAmong(patterns []string) (of, keys []string) {
	for _, p := range patterns {
		if strings.Contains(p, "/") {
			keys = append(keys, a.fullKey(p))
		} else {
			of = append(of, p)
		}
	}
	return of, keys
}

// hasKey reports whether a value, or one of its derived values, has one of the
// keys.
func hasKey(v valueData, keys []string) bool {
	return slices.Contains(keys, v.Value.GetKey()) ||
		slices.ContainsFunc(v.DerivedValues, func(d *api.ValueStatus) bool { return slices.Contains(keys, d.Key) })
}

// checkKeys returns an error for a key without a value, with the reason.
func (a *app) checkKeys(ctx context.Context, list []valueData, patterns []string) error {
	_, keys := a.keysAmong(patterns)
	for _, key := range keys {
		if slices.ContainsFunc(list, func(v valueData) bool { return hasKey(v, []string{key}) }) {
			continue
		}
		e, err := a.whyKey(ctx, key, key)
		if err != nil {
			return err
		}
		return fmt.Errorf("there is no value %s: %s", key, e.Reason)
	}
	return nil
}

// whyKey returns the explanation of the agent for a key, or the error of notAKey.
func (a *app) whyKey(ctx context.Context, given, key string) (api.Explanation, error) {
	e, err := a.client.Why(ctx, key)
	if err == nil {
		err = a.notAKey(given, key, e)
	}
	return e, err
}

// notAKey explains why no value can have a key; given is the key as entered, e
// the explanation of the agent.
func (a *app) notAKey(given, key string, e api.Explanation) error {
	set := a.set()
	m, ok := set.ForKey(key)
	switch {
	case e.State != kvscheduler.ValueState_NONEXISTENT || ok && wellFormed(m, key) || !ok && !e.Undescribed:
		return nil
	case ok:
		return fmt.Errorf("%s is no key of %s: they look like %s", key, m.Spec().ModelName(), example(m))
	}
	if m := likeliest(set.All(), given); m != nil {
		return fmt.Errorf("no model has keys like %s: those of %s look like %s, or in short %s/NAME ('agentctl model list' has all models)",
			given, m.Spec().ModelName(), example(m), m.Spec().ModelName())
	}
	return fmt.Errorf("no model has keys like %s: expected one such as config/vpp/v2/interfaces/loop1, or in short vpp.interfaces/loop1 ('agentctl model list' has all models)", given)
}

// wellFormed reports whether an item of the model can have the key.
func wellFormed(m models.Known, key string) bool {
	if !m.Matches(key) {
		return false
	}
	return m.Name() == nil || m.Name().Pattern().MatchString(m.Label(key))
}

// checkKey is notAKey; it asks the agent only about keys that no model of
// agentctl can have.
func (a *app) checkKey(ctx context.Context, key string) error {
	set := a.set()
	if m, ok := set.ForKey(key); ok && wellFormed(m, key) {
		return nil
	}
	_, err := a.whyKey(ctx, key, key)
	return err
}

// example describes the keys of a model.
func example(m models.Known) string {
	if m.Singleton() {
		return m.KeyPrefix()
	}
	if m.Name() == nil {
		return m.KeyPrefix() + "..."
	}
	return m.KeyPrefix() + m.Name().String()
}

// minAlike is the number of matching characters required for a suggestion.
const minAlike = 8

// likeliest returns the model whose keys or name have the longest common prefix
// with a key; nil if there is none.
func likeliest(all []models.Known, key string) (best models.Known) {
	most := minAlike - 1
	for _, m := range all {
		for _, beginning := range []string{m.KeyPrefix(), m.Spec().ModelName(), strings.TrimPrefix(m.KeyPrefix(), "config/")} {
			if n := commonPrefix(beginning, key); n > most {
				best, most = m, n
			}
		}
	}
	return best
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
