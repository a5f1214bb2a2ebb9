package document

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// SimilarField returns the path of the field of a message that an unknown name probably means:
// the most similar field, or else one level down the one with that name ("interfaces.order");
// empty if there is none.
func SimilarField(md protoreflect.MessageDescriptor, name string) string {
	var names []string
	for i := range md.Fields().Len() {
		names = append(names, md.Fields().Get(i).JSONName())
	}
	if near := suggest.Nearest(name, names); near != "" {
		return near
	}
	for _, n := range names {
		if len(name) > 2 && initials(n) == name {
			return n
		}
	}
	for i := range md.Fields().Len() {
		outer := md.Fields().Get(i)
		if outer.Message() == nil || outer.IsMap() {
			continue
		}
		inner := outer.Message().Fields()
		for _, f := range []protoreflect.FieldDescriptor{inner.ByJSONName(name), inner.ByTextName(name)} {
			if f != nil {
				return outer.JSONName() + "." + f.JSONName()
			}
		}
	}
	return ""
}

// initials returns the first letters of the words of a name, in lower case: "bvi" of "bridgedVirtualInterface".
func initials(name string) (letters string) {
	for i, r := range name {
		if i == 0 || unicode.IsUpper(r) {
			letters += string(unicode.ToLower(r))
		}
	}
	return letters
}

// maxHint is the length of a value that an error writes in another form, in bytes.
const maxHint = 60

// maxNamedFields is the number of fields of a message that an error lists.
const maxNamedFields = 16

// fieldHint says which fields a message has, if no similar one was probably meant.
func fieldHint(md protoreflect.MessageDescriptor, names []string, name string) string {
	if near := SimilarField(md, name); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(names) > maxNamedFields || len(names) == 0 {
		return ""
	}
	return "; expected one of " + strings.Join(names, ", ")
}

// maxByWords is the number of names with a common word that are suggested.
const maxByWords = 4

// byWords suggests the items of a group that share a word with a misspelt name, in their name or in the name of their message:
// "wgPeers" for "wireguardPeers", "ipsecSas" for "securityAssociations".
func (g *group) byWords(name string) string {
	if len(name) > maxHint {
		return ""
	}
	words, most := wordsOf(name), 1
	var found []string
	for _, k := range slices.Sorted(maps.Keys(g.byName)) {
		common := len(slices.DeleteFunc(wordsOf(k), func(w string) bool { return !slices.Contains(words, w) }))
		if common > most {
			found, most = nil, common
		}
		if m := g.byName[k].name; common == most && !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	if len(found) == 0 || len(found) > maxByWords {
		return ""
	}
	return "; did you mean " + strings.Join(found, " or ") + "?"
}

// minWord is the number of letters of a word that says what is meant.
const minWord = 4

// wordsOf returns the words of a name, in lower case and without the "s" of a plural.
func wordsOf(name string) []string {
	var spaced strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) || r == '_' || r == '-' {
			spaced.WriteByte(' ')
		}
		if r != '_' && r != '-' {
			spaced.WriteRune(unicode.ToLower(r))
		}
	}
	words := strings.Fields(spaced.String())
	for i, w := range words {
		words[i] = strings.TrimSuffix(w, "s")
	}
	return slices.DeleteFunc(words, func(w string) bool { return len(w) < minWord })
}

// elsewhere says where a field of the top level, or of a group, belongs that is the name of a part of another level: below
// a group, or at the top.
func (c *Codec) elsewhere(name, within string) string {
	var places []string
	for _, g := range c.groups {
		switch {
		case name == g.name || name == g.protoName:
			return "; expected at the top of the file"
		case g.byName[name] != nil && g.name != within:
			places = append(places, g.name+"."+g.byName[name].name)
		}
	}
	if len(places) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(places, " or ") + "?"
}

// suggestion names the known word that is most similar to the given one, if any is.
func suggestion(word string, known []string) string {
	if best := suggest.Nearest(word, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
