package kvdb

import (
	"context"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// meant returns "; did you mean KEY?" for a key that the store does not have, with the key that is most similar to
// it, or for a prefix of keys. If the store has no key of the agent, it suggests the label of another one. It is empty if nothing is similar.
func meant(ctx context.Context, f *cmdutil.Factory, db kv.DB, given string, prefix bool) string {
	within := f.Store.Key("")
	if strings.HasPrefix(given, "/") {
		within = "/"
	}
	listing, err := db.List(ctx, within, kv.KeysOnly())
	if err != nil {
		return "" // the first error says more
	}
	if len(listing.Items) == 0 {
		return otherLabel(ctx, f, db)
	}
	var known []string
	for _, it := range listing.Items {
		key := it.Key
		if within != "/" {
			key = strings.TrimPrefix(key, within)
		}
		if prefix { // and the prefixes of the key that end with a slash
			for at := range key {
				if key[at] == '/' && at > 0 {
					known = append(known, key[:at+1])
				}
			}
		}
		known = append(known, key)
	}
	slices.Sort(known)
	if near := nearestKey(given, slices.Compact(known)); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// nearestKey returns the known key that is most similar: if possible one that differs in the last part only.
func nearestKey(given string, known []string) string {
	dir := given[:strings.LastIndex(given, "/")+1]
	var names []string
	for _, key := range known {
		if name, ok := strings.CutPrefix(key, dir); ok && name != "" {
			names = append(names, name)
		}
	}
	if near := suggest.Nearest(strings.TrimPrefix(given, dir), names); near != "" {
		return dir + near
	}
	return suggest.Nearest(given, known)
}

// otherLabel suggests the label of an agent that has keys.
func otherLabel(ctx context.Context, f *cmdutil.Factory, db kv.DB) string {
	prefix := servicelabel.NewPlugin().GetAllAgentsPrefix()
	listing, err := db.List(ctx, prefix, kv.KeysOnly())
	if err != nil {
		return ""
	}
	var labels []string
	for _, it := range listing.Items {
		label, _, _ := strings.Cut(strings.TrimPrefix(it.Key, prefix), "/")
		labels = append(labels, label)
	}
	slices.Sort(labels)
	if near := suggest.Nearest(f.Flags.Label, slices.Compact(labels)); near != "" {
		return "; the store has no keys of agent " + f.Flags.Label + ", did you mean --service-label " + near + "?"
	}
	return ""
}
