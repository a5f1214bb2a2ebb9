package output

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// FieldNames describes the names of fields to users.
const FieldNames = "Output for programs (-o json, yaml, jsonpath=): fields have names such as lastChange, as in files and\n" +
	"in the JSON of tenuto.v1.AgentService; enums are names. The commands of Ligato that scripts parse keep\n" +
	"Ligato's names of fields, and numbers where it has them; the help of their -o says \"as in Ligato\". Go\n" +
	"templates use the names of Go, such as LastChange."

// namesKept is the annotation of commands whose output keeps the names of its fields.
const namesKept = "names-kept"

// AsInLigato marks a command whose output scripts parse that were written for Ligato's agentctl.
func AsInLigato(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Lookup("output").Usage += "; fields as in Ligato"
	return Verbatim(cmd)
}

// Verbatim marks a command whose output has names that are not agentctl's: a configuration, a
// schema, or any message of protocol buffers.
func Verbatim(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[namesKept] = ""
	return cmd
}

// KeepsNames reports whether a command is marked by Verbatim.
func KeepsNames(cmd *cobra.Command) bool {
	_, kept := cmd.Annotations[namesKept]
	return kept
}

// encode returns data as JSON with the names for programs.
func (p *Printer) encode(data any) (text json.RawMessage, err error) {
	if text, err = json.Marshal(data); err == nil && !p.NamesKept {
		text = renamed(text)
	}
	return text, err
}

// withUserNames are the fields whose values have names that are not agentctl's: a message, labels,
// and fields by keys of values.
var withUserNames = map[string]bool{"protoMsgData": true, "labels": true, "forced": true, "secrets": true}

// renamed changes the names of fields ("LastChange", "last_change") of a text without white
// space to lowerCamelCase, and keeps their order.
func renamed(text json.RawMessage) json.RawMessage {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = stringEnd(text, i)
		}
		part := text[i:end]
		i = end
		if part[0] != '"' || end == len(text) || text[end] != ':' {
			out = append(out, part...)
			continue
		}
		name := lowerCamel(string(part[1 : len(part)-1]))
		out = append(append(append(out, '"'), name...), '"', ':')
		i++
		switch {
		case withUserNames[name]:
			end = valueEnd(text, i)
			out, i = append(out, text[i:end]...), end
		case name == "origin" && text[i] >= '0' && text[i] <= '9':
			out, i = strconv.AppendQuote(out, api.ValueOrigin(text[i]-'0').String()), i+1
		}
	}
	return out
}

// stringEnd returns where the string that begins at i ends.
func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns where the value that begins at i ends.
func valueEnd(text []byte, i int) int {
	for depth := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth < 0 { // the end of what has a number, true, false or null
			return i
		}
		if depth == 0 && (i+1 == len(text) || text[i+1] == ',') {
			return i + 1
		}
	}
	return i
}

var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(_[a-z0-9]+)*$`)

// lowerCamel changes the name of a field; others, such as keys of values, it returns as they are.
func lowerCamel(name string) string {
	if !fieldName.MatchString(name) {
		return name
	}
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	name = strings.Join(words, "")
	capitals := len(name) - len(strings.TrimLeftFunc(name, unicode.IsUpper))
	if capitals > 1 && capitals < len(name) && unicode.IsLower(rune(name[capitals])) {
		capitals-- // the last one of "APIVersion" begins the next word
	}
	return strings.ToLower(name[:capitals]) + name[capitals:]
}
