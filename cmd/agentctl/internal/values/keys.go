package values

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// hasKey reports whether a value, or one of its derived values, has one of the
// keys.
func hasKey(v valueData, keys []string) bool {
	return slices.Contains(keys, v.Value.GetKey()) ||
		slices.ContainsFunc(v.DerivedValues, func(d *api.ValueStatus) bool { return slices.Contains(keys, d.Key) })
}

// checkKeys returns an error for a key without a value, with the reason.
func (o *options) checkKeys(ctx context.Context, list []valueData, patterns []string) error {
	_, keys := o.Models.KeysAmong(patterns)
	for _, key := range keys {
		if slices.ContainsFunc(list, func(v valueData) bool { return hasKey(v, []string{key}) }) {
			continue
		}
		e, err := whyKey(ctx, o.Factory, key, key)
		if err != nil {
			return err
		}
		return noValue(ctx, o.Factory, key, e.Reason)
	}
	return nil
}

// noValue is the error for a key without a value.
func noValue(ctx context.Context, f *cmdutil.Factory, key, reason string) error {
	short := f.Models.ShortKey(key)
	return fmt.Errorf("there is no value %s: %s%s", short, f.Models.ShortText(reason), f.DidYouMean(ctx, short))
}

// didYouMean replaces the error about a word that is no model or key, if items have such a name.
func didYouMean(ctx context.Context, f *cmdutil.Factory, given string, err error) error {
	similar := f.DidYouMean(ctx, given)
	switch {
	case similar == "":
		return err
	case strings.Contains(given, "/"):
		return fmt.Errorf("%w%s", err, similar)
	}
	return fmt.Errorf("%s is no key%s", given, similar)
}

// whyKey returns the explanation of the agent for a key, or the error of notAKey.
func whyKey(ctx context.Context, f *cmdutil.Factory, given, key string) (api.Explanation, error) {
	e, err := f.Client.Scheduler.Why(ctx, key)
	if err == nil {
		err = notAKey(f, given, key, e)
	}
	if err != nil {
		err = didYouMean(ctx, f, given, err)
	}
	return e, err
}

// notAKey explains why no value can have a key; given is the key as entered, e
// the explanation of the agent.
func notAKey(f *cmdutil.Factory, given, key string, e api.Explanation) error {
	set := f.Models.Set()
	m, ok := set.ForKey(key)
	switch {
	case e.State != kvscheduler.ValueState_NONEXISTENT || ok && wellFormed(m, key) || !ok && !e.Undescribed:
		return nil
	case ok:
		return fmt.Errorf("%s is no key of %s: they look like %s", key, m.Spec().ModelName(), cmdutil.KeyExample(m))
	}
	if m := likeliest(set.All(), given); m != nil {
		return fmt.Errorf("no model has keys like %s: keys of %s look like %s ('agentctl model list' has all models)", given, m.Spec().ModelName(), cmdutil.KeyExample(m))
	}
	return fmt.Errorf("no model has keys like %s: expected one such as vpp.interfaces/loop1 ('agentctl model list' has all models)", given)
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
func (o *waitOptions) checkKey(ctx context.Context, key string) error {
	set := o.Models.Set()
	if m, ok := set.ForKey(key); ok && wellFormed(m, key) {
		return nil
	}
	_, err := whyKey(ctx, o.Factory, key, key)
	return err
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
