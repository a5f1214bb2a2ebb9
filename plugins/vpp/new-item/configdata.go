package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var (
	protoImport = regexp.MustCompile(`(?m)^import "(ligato/vpp/\w+/\w+\.proto)";\n`)
	configData  = regexp.MustCompile(`(?ms)^message ConfigData \{\n.*?^\}\n`)
	number      = regexp.MustCompile(`(?m) = (\d+)[; ]`)
)

// configData is the field of the item in the message of all VPP configuration.
func (i *item) configData() (file, error) {
	f := file{name: "proto/ligato/vpp/vpp.proto", grows: true}
	text, err := os.ReadFile(filepath.Join(i.root, filepath.FromSlash(f.name)))
	if err != nil {
		return f, err
	}
	field := i.feature + "_" + plural(i.words["file"])
	f.text, err = withField(string(text), i.feature, i.words["Item"], field)
	f.todo = fmt.Sprintf("the field %s: files have the items under this name", field)
	return f, err
}

// withField returns vpp.proto with a field for the messages of a feature.
func withField(text, feature, message, field string) (string, error) {
	at := configData.FindStringIndex(text)
	if at == nil {
		return "", errors.New("vpp.proto: expected a message ConfigData")
	}
	last := 0
	for _, m := range number.FindAllStringSubmatch(text[at[0]:at[1]], -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			last = max(last, n)
		}
	}
	next := last + 1
	file := fmt.Sprintf("ligato/vpp/%s/%s.proto", feature, feature)
	known := strings.Contains(text, `import "`+file+`"`)
	if !known {
		next = (last/10 + 1) * 10 // features begin at full tens
	}
	end := at[1] - len("}\n")
	text = text[:end] + fmt.Sprintf("  repeated %s.%s %s = %d;\n", feature, message, field, next) + text[end:]
	if known {
		return text, nil
	}
	position := 0
	for _, m := range protoImport.FindAllStringSubmatchIndex(text, -1) {
		if position == 0 || text[m[2]:m[3]] < file {
			position = m[1]
		}
	}
	return text[:position] + `import "` + file + "\";\n" + text[position:], nil
}
