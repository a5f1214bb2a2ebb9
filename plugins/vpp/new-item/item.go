package main

import (
	"embed"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed templates/*.txt
var templates embed.FS

const module = "github.com/tenuto-dev/tenuto/"

// item is the item whose skeleton is written.
type item struct {
	root    string // of the repository
	model   string // "vpp.npt66.binding"
	feature string // "npt66"
	words   map[string]string

	request     *message // nil: not known yet
	requestName string
	dump        *message // nil: VPP does not list the items
	details     *message // records of dump
}

var modelName = regexp.MustCompile(`^vpp\.([a-z][a-z0-9]*)\.([a-z][a-z0-9]*(?:-[a-z0-9]+)*)$`)

func newItem(root, model string) (*item, error) {
	m := modelName.FindStringSubmatch(model)
	if m == nil {
		return nil, fmt.Errorf("%q: expected the name of a model, vpp.FEATURE.TYPE in lower case, such as vpp.npt66.binding", model)
	}
	feature, typ := m[1], m[2]
	var upper string
	for part := range strings.SplitSeq(typ, "-") {
		upper += strings.ToUpper(part[:1]) + part[1:]
	}
	lower := strings.ToLower(upper[:1]) + upper[1:]
	if token.IsKeyword(lower) || slices.Contains([]string{feature, "item", "session", "models", "kvs", "api", "string"}, lower) {
		lower += "Item"
	}
	return &item{root: root, model: model, feature: feature, words: map[string]string{
		"model": model, "feature": feature, "type": typ, "text": strings.ReplaceAll(typ, "-", " "), "file": strings.ReplaceAll(typ, "-", "_"),
		"Item": upper, "item": lower, "items": plural(lower), "plugin": feature + "plugin",
		"vnet": plural(feature + upper), "VNet": strings.ToUpper(feature[:1]) + feature[1:] + plural(upper),
	}}, nil
}

func plural(word string) string {
	switch {
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"):
		return word + "es"
	case strings.HasSuffix(word, "y"):
		return strings.TrimSuffix(word, "y") + "ies"
	}
	return word + "s"
}

// fill returns a template with the words of the item, and with more words.
func (i *item) fill(template string, more map[string]string) (string, error) {
	text, err := templates.ReadFile("templates/" + template + ".txt")
	if err != nil {
		return "", err
	}
	return os.Expand(string(text), func(word string) string {
		if value, ok := more[word]; ok {
			return value
		}
		return i.words[word]
	}), nil
}

// goFile returns a file of Go code: templates, below a header and imports.
func (i *item) goFile(header string, imports []string, more map[string]string, names ...string) (string, error) {
	slices.SortFunc(imports, func(a, b string) int { return strings.Compare(pathOf(a), pathOf(b)) })
	groups := [3]string{}
	for _, spec := range slices.Compact(imports) {
		switch p := pathOf(spec); {
		case !strings.Contains(p, "."):
			groups[0] += spec + "\n"
		case !strings.HasPrefix(p, module):
			groups[1] += spec + "\n"
		default:
			groups[2] += spec + "\n"
		}
	}
	text := header + "\n\nimport (\n" + strings.Join(groups[:], "\n") + ")\n\n"
	for _, name := range names {
		part, err := i.fill(name, more)
		if err != nil {
			return "", err
		}
		text += part
	}
	code, err := format.Source([]byte(text))
	return string(code), err
}

// pathOf returns the path of an import.
func pathOf(spec string) string { return strings.Trim(spec[strings.Index(spec, `"`):], `"`) }

// imports quotes paths of packages.
func imports(paths ...string) (specs []string) {
	for _, p := range paths {
		specs = append(specs, `"`+p+`"`)
	}
	return specs
}

// exists reports whether the repository has a file.
func (i *item) exists(name string) (bool, error) {
	_, err := os.Stat(filepath.Join(i.root, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// free returns the name of a new file of the item: the name of the feature, or if the repository has
// such a file, with the type of the item behind it.
func (i *item) free(format string) (string, error) {
	name := fmt.Sprintf(format, i.feature)
	if exists, err := i.exists(name); !exists {
		return name, err
	}
	return fmt.Sprintf(format, i.feature+"_"+i.words["file"]), nil
}

// files returns the files of the skeleton.
func (i *item) files() ([]file, error) {
	var files []file
	for _, part := range []func() (file, error){i.proto, i.configData, i.plugin, i.simulator, i.script, i.catalogue} {
		f, err := part()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// proto is the message.
func (i *item) proto() (file, error) {
	f := file{name: path.Join("proto/ligato/vpp", i.feature, i.feature+".proto")}
	f.todo = fmt.Sprintf("the fields of %s, with comments, (ligato_options) and a (ligato.sample) if they have to be given;\n"+
		"in the option (ligato.item) the fields that identify an item", i.words["Item"])
	if i.request != nil {
		var more []string
		for _, field := range i.request.fields {
			if field != *i.request.index() && field != *i.request.add() {
				more = append(more, field.wire)
			}
		}
		if len(more) > 0 {
			f.todo += fmt.Sprintf("; %s also has: %s", i.requestName, strings.Join(more, ", "))
		}
	}
	text, err := os.ReadFile(filepath.Join(i.root, filepath.FromSlash(f.name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.text, err = i.fill("proto", nil); err != nil {
			return f, err
		}
	case err != nil:
		return f, err
	case strings.Contains(string(text), "message "+i.words["Item"]+" {"):
		return f, fmt.Errorf("%s: has the message %s already", f.name, i.words["Item"])
	default:
		f.text, f.grows = string(text), true
	}
	message, err := i.fill("message", nil)
	f.text += message
	return f, err
}

// plugin is the descriptor, with the plugin if the feature has none yet.
func (i *item) plugin() (file, error) {
	dir := path.Join("plugins/vpp", i.words["plugin"])
	needed := imports("go.fd.io/govpp/api", "go.fd.io/govpp/binapi/interface_types",
		module+"infra/models", module+"plugins/vpp/item", module+"plugins/vpp/session")
	needed = append(needed, `kvs "`+module+`plugins/kvscheduler/api"`, i.feature+` "`+module+"proto/ligato/vpp/"+i.feature+`"`)
	words := map[string]string{
		"request": "&vpe.ShowVpeSystemTime{}", "reply": "&vpe.ShowVpeSystemTimeReply{}", "dumps": "Unlisted: true",
		"check": fmt.Sprintf("\nCheck: func(context.Context, *%s.%s, %s) error {\nreturn errors.New(\"the skeleton of %s has no request of VPP yet\")\n},",
			i.feature, i.words["Item"], i.words["item"], i.model),
	}
	f := file{todo: "the request of VPP that adds and removes the item, in place of show_vpe_system_time; then delete Check\n"}
	if m := i.request; m != nil {
		f.todo = ""
		needed = append(needed, m.api()+` "`+m.pkg+`"`)
		words["request"] = fmt.Sprintf("&%s.%s{%s: add, %s: e.index}", m.api(), m.typ, m.add().name, m.index().name)
		words["reply"], words["check"] = fmt.Sprintf("&%s.%sReply{}", m.api(), m.typ), ""
	} else {
		needed = append(needed, imports("context", "errors", "go.fd.io/govpp/binapi/vpe")...)
	}
	if d := i.details; d != nil {
		words["dumps"] = fmt.Sprintf("Dumps: []item.Dump[%[1]s]{item.List(&%[2]s.%[3]s{}, func(d *%[2]s.%[4]s) (%[1]s, bool) {\nreturn %[1]s{d.%[5]s}, true\n})}",
			i.words["item"], d.api(), i.dump.typ, d.typ, d.index().name)
	} else {
		f.todo += "the dump of VPP that lists the items (Dumps), if there is one: it takes the place of Unlisted\n"
	}
	f.todo += "the fields: from the value to the request (Resolve, with a check of each), and back (Value);\n" +
		"what VPP answers if it has the item, or has not (Exists, Gone); why it must not have the item (Check)"
	header, parts := "package "+i.words["plugin"], []string{"descriptor"}
	isOld, err := i.exists(dir)
	if err != nil {
		return f, err
	}
	if isOld {
		f.name = path.Join(dir, i.words["file"]+".go")
		f.todo += fmt.Sprintf("\nin the Spec of the plugin, Operations has to list %s, and Register has to add New%s", i.words["items"], i.words["Item"])
	} else {
		f.name = path.Join(dir, i.feature+".go")
		header = fmt.Sprintf("// Package %s is the plugin for the feature %s of VPP.\n%s", i.words["plugin"], i.feature, header)
		needed = append(needed, imports(module+"plugins/vpp/itemplugin")...)
		parts = []string{"plugin", "descriptor"}
	}
	f.text, err = i.goFile(header, needed, words, parts...)
	return f, err
}

// simulator is the feature of the simulator.
func (i *item) simulator() (f file, err error) {
	if f.name, err = i.free("plugins/govppmux/vppsim/internal/vnet/%s.go"); err != nil {
		return f, err
	}
	needed := imports("fmt", "strings", module+"plugins/govppmux/vppsim/internal/wire")
	f.todo = "the handlers of the requests, and what they refuse, as VPP does; what VPP keeps when an interface is deleted"
	words := map[string]string{}
	if m := i.request; m != nil {
		needed = append(needed, `"go.fd.io/govpp/api"`, m.api()+` "`+m.pkg+`"`)
		words["handlers"] = fmt.Sprintf("\nhandle[%s.%sReply](server, f.set)\n", m.api(), m.typ)
		words["api"], words["Request"], words["Index"], words["Add"] = m.api(), m.typ, m.index().name, m.add().name
		if words["handle"], err = i.fill("handle", words); err != nil {
			return f, err
		}
	}
	if d := i.details; d != nil {
		needed = append(needed, imports("maps", "slices")...)
		words["handlers"] += fmt.Sprintf("wire.HandleDump(server, func(c *wire.Call, _ *%[1]s.%[2]s) {\n"+
			"for _, index := range slices.Sorted(maps.Keys(f.on)) {\nc.Send(&%[1]s.%[3]s{%[4]s: ifIndex(index)})\n}\n})\n",
			d.api(), i.dump.typ, d.typ, d.index().name)
	}
	f.text, err = i.goFile("package vnet", needed, words, "vnet")
	return f, err
}

// script has the requests that are compared with a VPP.
func (i *item) script() (f file, err error) {
	if f.name, err = i.free("plugins/govppmux/vppsim/testdata/%s.script"); err != nil {
		return f, err
	}
	f.todo = "requests, above all those that VPP refuses"
	text := `{"sw_if_index":1}`
	if m := i.request; m != nil {
		index, add := m.index().wire, m.add().wire
		text += fmt.Sprintf("\n> %[1]s {%[2]q:true,%[3]q:1}\n{}\n> %[1]s {%[2]q:true,%[3]q:9}\n{\"retval\":-2}\n> %[1]s {%[3]q:1}\n{}", i.requestName, add, index)
	}
	f.text, err = i.fill("script", map[string]string{"requests": text})
	return f, err
}

// catalogue is the exemplar for the suites.
func (i *item) catalogue() (f file, err error) {
	if f.name, err = i.free("plugins/vpp/vpptest/catalogue/%s.go"); err != nil {
		return f, err
	}
	needed := append(imports("google.golang.org/protobuf/proto"), i.feature+` "`+module+"proto/ligato/vpp/"+i.feature+`"`)
	f.todo = "an exemplar with all fields; Spellings, Updates, Recreates, Refusals and Conflicts, or in Without the reason why it has none"
	words := map[string]string{}
	switch m := i.request; {
	case m == nil:
		f.todo += ";\nByHand, the request by which another client deletes it; if VPP does not list it, reasons in Without: Retrieve, ByHand, Restart"
	case i.dump == nil:
		words["optional"] = "\nWithout: map[string]string{\n\"Retrieve\": \"VPP does not list it\", \"ByHand\": \"VPP does not list it\", " +
			"\"Restart\": \"VPP does not list it\",\n},"
	default:
		needed = append(needed, imports("go.fd.io/govpp/api", "go.fd.io/govpp/binapi/interface_types")...)
		needed = append(needed, m.api()+` "`+m.pkg+`"`)
		words["optional"] = fmt.Sprintf("\nByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {\n"+
			"return &%[1]s.%[2]s{%[3]s: interface_types.InterfaceIndex(index(m.(*%[4]s.%[5]s).Interface))}, &%[1]s.%[2]sReply{}\n},",
			m.api(), m.typ, m.index().name, i.feature, i.words["Item"])
	}
	f.text, err = i.goFile("package catalogue", needed, words, "catalogue")
	return f, err
}
