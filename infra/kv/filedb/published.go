package filedb

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// published is the content of the status file: values by key.
type published map[string]json.RawMessage

func (m *published) set(key string, value proto.Message) error {
	if value == nil {
		delete(*m, key)
		return nil
	}
	text, err := kv.Encode(value)
	if err != nil {
		return err
	}
	if *m == nil {
		*m = published{}
	}
	(*m)[key] = text
	return nil
}

// write replaces the file atomically.
func (m *published) write(path string) error {
	type datum struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	doc := struct {
		Data []datum `json:"data"`
	}{Data: []datum{}}
	for _, key := range slices.Sorted(maps.Keys(*m)) {
		doc.Data = append(doc.Data, datum{key, (*m)[key]})
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the published values: %w", err)
	}
	return replaceFile(path, append(text, '\n'))
}

// replaceFile leaves the file unchanged, and no other file behind, if it
// fails.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, explain(err))
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(explain(err), os.Remove(f.Name())))
	}
	return nil
}

// explain adds the remedy to the error of a full disk.
func explain(err error) error {
	if kv.DiskFull(err) {
		return fmt.Errorf("%w: the file is unchanged; free disk space, or set status-path in filedb.conf to a file elsewhere", err)
	}
	return err
}
