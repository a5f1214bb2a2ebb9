package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// imported is a package by the name that types refer to it by.
type imported struct {
	Name, Path string
	Alias      bool // the name must be written in the import
}

// resolveImport finds path and name of a package. A directory relative to the
// working directory becomes the import path by the go.mod above it.
func resolveImport(text string) (imported, error) {
	alias, target, renamed := strings.Cut(text, "=")
	if !renamed {
		alias, target = "", text
	}
	if renamed && !token.IsIdentifier(alias) {
		return imported{}, fmt.Errorf("--import %q: expected an identifier before the equals sign", text)
	}
	importPath, dir, err := locate(target)
	if err != nil {
		return imported{}, fmt.Errorf("--import %q: %w", text, err)
	}
	imp := imported{Name: alias, Path: importPath, Alias: renamed}
	if !renamed {
		imp.Name = packageName(importPath, dir)
		imp.Alias = imp.Name != path.Base(importPath)
	}
	return imp, nil
}

// locate returns the import path and, if it is known, the directory.
func locate(target string) (importPath, dir string, err error) {
	if target == "" {
		return "", "", errors.New("expected an import path or a directory")
	}
	first, _, _ := strings.Cut(target, "/")
	relative := strings.HasPrefix(target, ".")
	if !relative && strings.Contains(first, ".") {
		return target, "", nil // begins with a host name
	}
	info, statErr := os.Stat(target)
	switch {
	case statErr == nil && info.IsDir():
	case relative:
		return "", "", errors.New("expected a directory relative to the working directory")
	default:
		return target, "", nil // of the standard library, or of a module without a host
	}
	dir, err = filepath.Abs(target)
	if err != nil {
		return "", "", err
	}
	for root := dir; ; root = filepath.Dir(root) {
		if module, err := modulePath(filepath.Join(root, "go.mod")); err == nil {
			rest, err := filepath.Rel(root, dir)
			return path.Join(module, filepath.ToSlash(rest)), dir, err
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", "", err
		}
		if root == filepath.Dir(root) {
			return "", "", errors.New("expected a go.mod above the directory")
		}
	}
}

var moduleLine = regexp.MustCompile(`(?m)^\s*module\s+"?([^"\s]+)"?`)

func modulePath(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	m := moduleLine.FindSubmatch(data)
	if m == nil {
		return "", fmt.Errorf("%s has no module line", file)
	}
	return string(m[1]), nil
}

// packageName reads the name from the package clause, asks the go command, or
// takes the last element of the path.
func packageName(importPath, dir string) string {
	if dir != "" {
		if name := clause(dir); name != "" {
			return name
		}
	}
	if out, err := exec.Command("go", "list", "-find", "-f", "{{.Name}}", importPath).Output(); err == nil {
		if name := strings.TrimSpace(string(out)); name != "" {
			return name
		}
	}
	base := path.Base(importPath)
	if versionSuffix.MatchString(base) {
		base = path.Base(path.Dir(importPath))
	}
	base, _, _ = strings.Cut(base, ".")
	return strings.ReplaceAll(base, "-", "_")
}

var versionSuffix = regexp.MustCompile(`^v[0-9]+$`)

func clause(dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return ""
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err == nil {
			return f.Name.Name
		}
	}
	return ""
}
