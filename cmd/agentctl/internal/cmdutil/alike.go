package cmdutil

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// Meant returns `; did you mean "NAME"?` for a name that does not exist, with the known name that is most similar to it. It is
// empty if there is none.
func Meant(given string, known []string) string {
	if near := suggest.ByParts(given, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// MeantItem is Meant for a key, or MODEL/NAME, with the keys that are known.
func (f *Factory) MeantItem(given string, keys []string) string {
	var known []string
	for _, key := range keys {
		known = append(known, f.Models.ShortKey(key))
	}
	return ask(f.among(f.Models.ShortKey(given), known))
}

// Unknown returns err, the error of a command about some keys, with the known one that was probably meant by the first key
// that is not known.
func (f *Factory) Unknown(err error, given, known []string) error {
	for _, key := range given {
		if !slices.Contains(known, key) {
			return fmt.Errorf("%w%s", err, f.MeantItem(key, known))
		}
	}
	return err
}

// ask returns the question whether one of the names was meant.
func ask(similar []string) string {
	if len(similar) > 0 {
		return "; did you mean " + strings.Join(similar, ", ") + "?"
	}
	return ""
}

// DidYouMean returns "; did you mean MODEL/NAME?" for a name, or MODEL/NAME, that does not exist: the items
// with this name, or else one with a similar name. It is empty without a similar name.
func (f *Factory) DidYouMean(ctx context.Context, given string) string {
	return ask(f.alike(ctx, given))
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
func (f *Factory) alike(ctx context.Context, given string) []string {
	list, err := f.Client.Scheduler.Values(ctx)
	if err != nil {
		return nil // the first error says more
	}
	var known []string
	for _, v := range list {
		if key := v.Value.GetKey(); f.Models.ShortKey(key) != key {
			known = append(known, f.Models.ShortKey(key))
		}
	}
	return f.among(given, known)
}

// among is alike with the MODEL/NAME that are known.
func (f *Factory) among(given string, known []string) (found []string) {
	model, name, both := strings.Cut(given, "/")
	if !both {
		model, name = "", given
	} else if _, exists := f.Models.Set().ForName(model); !exists {
		model = suggest.ByParts(model, names(f.Models.Set()))
	}
	byName := map[string][]string{}
	for _, short := range known {
		if of, label, ok := strings.Cut(short, "/"); ok && (model == "" || of == model) {
			byName[label] = append(byName[label], short)
		}
	}
	found = byName[name]
	if len(found) == 0 {
		found = byName[suggest.Nearest(name, slices.Sorted(maps.Keys(byName)))]
	}
	return found[:min(len(found), maxNamed)]
}
