package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// lostModels returns the models with items in the file that cannot be identified: their field is misspelt or left out, or the item
// has no valid name. The values are the paths of the mistakes.
func lostModels(set *models.Set, doc *document.Document) map[string]string {
	lost, codec, places := map[string]string{}, document.New(set), places{}
	prefixes := map[string]string{}
	for _, m := range set.All() {
		if place, _ := codec.Place(m.Spec().ModelName()); place != "" {
			prefixes[place] = m.KeyPrefix()
			places.add(place)
		}
	}
	for _, e := range doc.Errs {
		for _, place := range places.hidden(e.Field) {
			lost[prefixes[place]] = e.Field
		}
	}
	return lost
}

// places are the fields that have items in files, by group: "interfaces" in "vppConfig".
type places map[string][]string

func (p places) add(place string) {
	group, name, _ := strings.Cut(place, ".")
	p[group] = append(p[group], name)
}

// hidden returns the places whose items an error at a path hides.
func (p places) hidden(path string) []string {
	place, index, element := strings.Cut(path, "[")
	group, name, below := strings.Cut(place, ".")
	known := slices.Contains(p[group], name)
	switch {
	case element && known && strings.Count(index, "]") == 1 && strings.HasSuffix(index, "]"): // an item without a name
		return []string{place}
	case element || place == "" || known:
		return nil
	case !below:
		return p.below(group)
	}
	if meant := suggest.Nearest(name, p[group]); meant != "" { // a misspelt list
		return []string{group + "." + meant}
	}
	return nil
}

// below returns the places of a misspelt group, or those with a name that stands below no group.
func (p places) below(name string) (list []string) {
	meant := suggest.Nearest(name, slices.Sorted(maps.Keys(p)))
	for _, group := range slices.Sorted(maps.Keys(p)) {
		for _, other := range p[group] {
			if group == meant || other == name {
				list = append(list, group+"."+other)
			}
		}
	}
	return list
}
