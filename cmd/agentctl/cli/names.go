package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// fieldNames describes the names of fields to users.
const fieldNames = "Output for programs (-o json, yaml, jsonpath=): fields have names such as lastChange, as in files and\n" +
	"in the JSON of tenuto.v1.AgentService; enums are names. The commands of Ligato that scripts parse keep\n" +
	"Ligato's names of fields, and numbers where it has them; the help of their -o says \"as in Ligato\". Go\n" +
	"templates use the names of Go, such as LastChange."

// namesKept is the annotation of commands whose output keeps the names of its fields.
const namesKept = "names-kept"

// asInLigato marks a command whose output scripts parse that were written for Ligato's agentctl.
func asInLigato(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Lookup("output").Usage += "; fields as in Ligato"
	return verbatim(cmd)
}

// verbatim marks a command whose output has names that are not agentctl's: a configuration, a
// schema, or any message of protocol buffers.
func verbatim(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{namesKept: ""}
	return cmd
}

// encode returns data as JSON with the names for programs.
func (a *app) encode(data any) (text json.RawMessage, err error) {
	if text, err = json.Marshal(data); err == nil && !a.namesKept {
		text, err = renamed(text)
	}
	return text, err
}

// withUserNames are the fields whose values have names that are not agentctl's: a message, labels,
// and fields by keys of values.
var withUserNames = map[string]bool{"protoMsgData": true, "labels": true, "forced": true}

// renamed changes the names of fields ("LastChange", "last_change") to lowerCamelCase, and keeps
// their order.
func renamed(text json.RawMessage) (json.RawMessage, error) {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return text, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, err := d.Token()
	out := []byte{text[0]}
	for err == nil && d.More() {
		var name string
		var value json.RawMessage
		if text[0] == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name = lowerCamel(fmt.Sprint(key))
			quoted, _ := json.Marshal(name) // texts have no errors
			out = append(append(out, quoted...), ':')
		}
		if err = d.Decode(&value); err != nil {
			return nil, err
		}
		if !withUserNames[name] {
			value, err = renamed(value)
		}
		if n, nerr := strconv.Atoi(string(value)); nerr == nil && name == "origin" {
			value = strconv.AppendQuote(nil, api.ValueOrigin(n).String())
		}
		out = append(append(out, value...), ',')
	}
	return append(bytes.TrimSuffix(out, []byte(",")), text[len(text)-1]), err
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
