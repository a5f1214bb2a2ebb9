package store

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Item is an item of a configuration: its key without the prefix of the agent, and its value as JSON.
type Item struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
	// Config is the name of the NetworkConfig that gives the item; empty: unknown. It is no part of the content.
	Config string `json:"-"`
}

// Revision is a configuration of the fleet.
type Revision struct {
	Number int64 `json:"number"`
	// Agents have the digest of the manifest of each agent.
	Agents map[string]string `json:"agents"`
	// Message and Author are for people.
	Message string    `json:"message,omitempty"`
	Author  string    `json:"author,omitempty"`
	Created time.Time `json:"created"`
	// Configs describe the NetworkConfigs that it was rendered from, by name.
	Configs map[string]ConfigOrigin `json:"configs,omitempty"`
}

// ConfigOrigin describes a NetworkConfig.
type ConfigOrigin struct {
	Position string `json:"position,omitempty"` // file:line:column
	Priority int    `json:"priority,omitempty"`
}

// Manifest is the configuration of an agent: the digests of its chunks in their order.
type Manifest struct {
	Items  int      `json:"items"`
	Chunks []string `json:"chunks"`
	// From says which NetworkConfigs the items come from, in their order; missing if that would be long.
	From []Run `json:"from,omitempty"`
}

// Run is how many items in a row come from a NetworkConfig.
type Run struct {
	Config string `json:"config"`
	Items  int    `json:"items"`
}

// maxRuns is the maximum length of Manifest.From. A manifest with so many is about 200 KiB.
const maxRuns = 4000

// runs returns Manifest.From of sorted items.
func runs(items []Item) (list []Run) {
	for i := range items {
		if n := len(list); n > 0 && list[n-1].Config == items[i].Config {
			list[n-1].Items++
			continue
		}
		list = append(list, Run{items[i].Config, 1})
	}
	if len(list) > maxRuns || len(list) == 1 && list[0].Config == "" {
		return nil
	}
	return list
}

// Chunks are cut after an item whose key has a hash that is a multiple of cutEvery, so that a changed
// item changes one chunk, and before they have more than maxChunk bytes uncompressed. etcd refuses
// requests of more than 1.5 MiB.
const (
	cutEvery = 1024
	maxChunk = 1 << 20
)

// ErrDigest is returned if content does not have the digest by which it is stored.
var ErrDigest = errors.New("the content does not have its digest")

// pack returns the manifest of items, and its chunks by digest.
func pack(items []Item) (m Manifest, chunks map[string][]byte, err error) {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.Key, b.Key) })
	m.Items, m.From, chunks = len(items), runs(items), map[string][]byte{}
	var text bytes.Buffer
	cut := func() error {
		if text.Len() == 0 {
			return nil
		}
		name := digest(text.Bytes())
		if chunks[name], err = compress(text.Bytes()); err != nil {
			return err
		}
		m.Chunks = append(m.Chunks, name)
		text.Reset()
		return nil
	}
	for _, it := range items {
		line, err := json.Marshal(it)
		if err != nil {
			return m, nil, fmt.Errorf("%s: %w", it.Key, err)
		}
		if len(line) >= maxChunk {
			return m, nil, fmt.Errorf("%s: the item has %d bytes, expected less than %d", it.Key, len(line), maxChunk)
		}
		if text.Len()+len(line) >= maxChunk {
			if err := cut(); err != nil {
				return m, nil, err
			}
		}
		text.Write(append(line, '\n'))
		if cutsAfter(it.Key) {
			if err := cut(); err != nil {
				return m, nil, err
			}
		}
	}
	return m, chunks, cut()
}

func cutsAfter(key string) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // never fails
	return h.Sum64()%cutEvery == 0
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unpack returns the items of a chunk.
func unpack(name string, data []byte) (items []Item, err error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxChunk+1))
	if err != nil {
		return nil, err
	}
	if digest(text) != name {
		return nil, ErrDigest
	}
	for line := range bytes.Lines(text) {
		var it Item
		if err := json.Unmarshal(line, &it); err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

// PutConfig stores the configuration of an agent, and returns the digest of its manifest. What is
// stored already is not written again. Revise calls it, and keeps Collect of other clients from removing what no
// revision refers to yet.
func (s Store) PutConfig(ctx context.Context, items []Item) (manifest string, err error) {
	m, chunks, err := pack(items)
	if err != nil {
		return "", err
	}
	for name, data := range chunks {
		if err := s.putOnce(ctx, "chunk/"+name, data); err != nil {
			return "", err
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	name := digest(raw)
	return name, s.putOnce(ctx, "manifest/"+name, raw)
}

// putOnce stores content that is never changed.
func (s Store) putOnce(ctx context.Context, key string, data []byte) error {
	_, err := s.conditional()(ctx, s.prefix+key, nil, data)
	return describe(key, err)
}

// Config returns the configuration of an agent by the digest of its manifest.
func (s Store) Config(ctx context.Context, manifest string) (items []Item, err error) {
	key := "manifest/" + manifest
	found, err := s.db.Get(ctx, s.prefix+key)
	if err != nil {
		return nil, describe(key, err)
	}
	var m Manifest
	if err := json.Unmarshal(found.Value, &m); err != nil {
		return nil, describe(key, err)
	}
	if digest(found.Value) != manifest {
		return nil, describe(key, ErrDigest)
	}
	for _, name := range m.Chunks {
		chunk, err := s.db.Get(ctx, s.prefix+"chunk/"+name)
		if err != nil {
			return nil, describe("chunk/"+name, err)
		}
		part, err := unpack(name, chunk.Value)
		if err != nil {
			return nil, describe("chunk/"+name, err)
		}
		items = append(items, part...)
	}
	m.name(items)
	return items, nil
}

// name sets the NetworkConfigs of items.
func (m *Manifest) name(items []Item) {
	for _, r := range m.From {
		for i := range items[:min(r.Items, len(items))] {
			items[i].Config = r.Config
		}
		items = items[min(r.Items, len(items)):]
	}
}

// CreateRevision stores a revision with the next free number, which it returns.
func (s Store) CreateRevision(ctx context.Context, r Revision) (number int64, err error) {
	for {
		last, err := s.LastRevision(ctx)
		if err != nil {
			return 0, err
		}
		r.Number = last + 1
		if err := swap(ctx, s, revisionKey(r.Number), nil, r); !errors.Is(err, ErrConflict) {
			return r.Number, err
		}
	}
}

// LastRevision returns the number of the newest revision; 0 if there is none.
func (s Store) LastRevision(ctx context.Context) (last int64, err error) {
	err = s.list(ctx, "revision/", func(rest string, _ []byte) error {
		n, err := strconv.ParseInt(rest, 10, 64)
		last = max(last, n)
		return err
	}, kv.KeysOnly())
	return last, err
}

// Revision returns a revision.
func (s Store) Revision(ctx context.Context, number int64) (Revision, error) {
	o, err := get[Revision](ctx, s, revisionKey(number))
	if err == nil && o.raw == nil {
		err = describe(revisionKey(number), kv.ErrNotFound)
	}
	return o.value, err
}

func revisionKey(number int64) string { return "revision/" + strconv.FormatInt(number, 10) }

// Revisions returns all revisions, by number.
func (s Store) Revisions(ctx context.Context) (map[int64]Revision, error) {
	all := map[int64]Revision{}
	err := s.list(ctx, "revision/", func(rest string, raw []byte) error {
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return err
		}
		var r Revision
		err = json.Unmarshal(raw, &r)
		all[n] = r
		return err
	})
	return all, err
}
