package cmdutil

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// DidYouMean returns "; did you mean MODEL/NAME?" for a name, or MODEL/NAME, that does not exist: the items
// with this name, or else one with a similar name. It is empty without a similar name.
func (f *Factory) DidYouMean(ctx context.Context, given string) string {
	if similar := f.alike(ctx, given); len(similar) > 0 {
		return "; did you mean " + strings.Join(similar, ", ") + "?"
	}
	return ""
}

// NoSource is the error for a key that no source has.
func (f *Factory) NoSource(ctx context.Context, key string) error {
	short := f.Models.ShortKey(key)
	return fmt.Errorf("no source has %s%s", short, f.DidYouMean(ctx, short))
}

// maxNamed is the number of values with the same name that are suggested.
const maxNamed = 5

// alike returns the short keys of the items that were probably meant by a name, or by MODEL/NAME: those
// with this name, or else one with a similar name.
func (f *Factory) alike(ctx context.Context, given string) (found []string) {
	list, err := f.Client.Scheduler.Values(ctx)
	if err != nil {
		return nil // the first error says more
	}
	model, name, both := strings.Cut(given, "/")
	if !both {
		model, name = "", given
	}
	byName := map[string][]string{}
	for _, v := range list {
		key := v.Value.GetKey()
		short := f.Models.ShortKey(key)
		of, label, ok := strings.Cut(short, "/")
		if short != key && ok && (model == "" || of == model) {
			byName[label] = append(byName[label], short)
		}
	}
	found = byName[name]
	if len(found) == 0 {
		found = byName[suggest.Nearest(name, slices.Sorted(maps.Keys(byName)))]
	}
	return found[:min(len(found), maxNamed)]
}
