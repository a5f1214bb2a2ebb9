package main

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

// imported is a package by the name that types refer to it by.
type imported struct {
	Name, Path string
	Alias      bool // the name must be written in the import
}

// resolveImport finds path and name of a package. A directory relative to the
// working directory becomes its import path.
func resolveImport(text string) (imported, error) {
	alias, target, renamed := strings.Cut(text, "=")
	if !renamed {
		alias, target = "", text
	}
	if renamed && !token.IsIdentifier(alias) {
		return imported{}, fmt.Errorf("--import %q: expected an identifier before the equals sign", text)
	}
	importPath, name, err := locate(target)
	if err != nil {
		return imported{}, fmt.Errorf("--import %q: %w", text, err)
	}
	if renamed {
		return imported{Name: alias, Path: importPath, Alias: true}, nil
	}
	return imported{Name: name, Path: importPath, Alias: name != path.Base(importPath)}, nil
}

// locate asks the go command for the import path and the name of a package. The name of a
// package that it does not find follows from the path.
func locate(target string) (importPath, name string, err error) {
	if target == "" {
		return "", "", errors.New("expected an import path or a directory")
	}
	relative := strings.HasPrefix(target, ".")
	if first, _, _ := strings.Cut(target, "/"); !relative && !strings.Contains(first, ".") { // no host name
		if info, err := os.Stat(target); err == nil && info.IsDir() {
			target, relative = "./"+target, true
		}
	}
	out, err := exec.Command("go", "list", "-e", "-find", "-f", "{{.ImportPath}} {{.Name}}", target).Output()
	importPath, name, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	switch {
	case relative && (err != nil || name == ""):
		return "", "", errors.New("expected a directory with a Go package of a module, relative to the working directory")
	case relative || err == nil && name != "":
		return importPath, name, nil
	}
	name = path.Base(target)
	if versionSuffix.MatchString(name) {
		name = path.Base(path.Dir(target))
	}
	name, _, _ = strings.Cut(name, ".")
	return target, strings.ReplaceAll(name, "-", "_"), nil
}

var versionSuffix = regexp.MustCompile(`^v[0-9]+$`)
