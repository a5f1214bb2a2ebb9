package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const (
	sources   = "src"
	extension = ".api"
	// core is the API file of the connection itself, which every VPP has.
	core = "vlibmemory/memclnt.api"
)

// readAPIFiles returns the API files of a release by their paths below src, without
// the API files of examples and of tests of VPP.
func readAPIFiles(dir, tag string) (map[string]string, error) {
	var files map[string]string
	var err error
	where := dir
	if isGit(dir) {
		where = dir + " at " + tag
		files, err = readGit(dir, tag)
	} else {
		files, err = readTree(dir)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", where, err)
	case len(files) == 0:
		return nil, fmt.Errorf("%s: no %s files below %s: expected the sources of VPP", where, extension, sources)
	case files[core] == "":
		return nil, fmt.Errorf("%s: %s/%s is missing or empty: expected the sources of VPP", where, sources, core)
	}
	return files, nil
}

// isGit distinguishes a git repository, bare or with a work tree, from a plain tree.
func isGit(dir string) bool {
	return exists(filepath.Join(dir, ".git")) || exists(filepath.Join(dir, "HEAD")) && exists(filepath.Join(dir, "objects"))
}

// wanted reports whether a path below src is an API file that VPP has when it runs.
func wanted(name string) bool {
	return strings.HasSuffix(name, extension) && !strings.HasPrefix(name, "examples/") && !strings.HasPrefix(name, "vat2/")
}

func readTree(dir string) (map[string]string, error) {
	files := map[string]string{}
	root := filepath.Join(dir, sources)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == root {
			return nil // reported as a tree without API files
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil || !wanted(filepath.ToSlash(name)) {
			return err
		}
		text, err := os.ReadFile(file)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	return files, err
}

// readGit reads the files of a tag from the objects of the repository.
func readGit(dir, tag string) (map[string]string, error) {
	ref := "refs/tags/" + tag
	if _, err := git(dir, "", "rev-parse", "--verify", "--quiet", ref+"^{tree}"); err != nil {
		return nil, fmt.Errorf("the repository has no tag %s: fetch it, or name another", tag)
	}
	list, err := git(dir, "", "ls-tree", "-r", "-z", "--name-only", "--full-tree", ref, sources+"/")
	if err != nil {
		return nil, err
	}
	var names []string
	var query strings.Builder
	for _, file := range strings.Split(string(list), "\x00") {
		name, ok := strings.CutPrefix(file, sources+"/")
		if ok && wanted(name) {
			names = append(names, name)
			fmt.Fprintf(&query, "%s:%s\n", ref, file)
		}
	}
	blobs, err := git(dir, query.String(), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	r := bufio.NewReader(bytes.NewReader(blobs))
	for _, name := range names {
		if files[name], err = readBlob(r); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(sources, name), err)
		}
	}
	return files, nil
}

// readBlob reads one answer of git cat-file --batch: "<object> blob <size>", the text, a
// newline.
func readBlob(r *bufio.Reader) (string, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	var object string
	var size int
	if _, err := fmt.Sscanf(head, "%s blob %d\n", &object, &size); err != nil {
		return "", fmt.Errorf("the repository is damaged or incomplete: git answers %q", strings.TrimSpace(head))
	}
	text := make([]byte, size+1)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", err
	}
	return string(text[:size]), nil
}

func git(dir, stdin string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
