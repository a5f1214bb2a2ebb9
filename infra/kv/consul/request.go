package consul

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBody is the maximum size of a response, in bytes.
const maxBody = 1 << 30

// database implements kv.DB.
type database struct {
	base    *url.URL
	http    *http.Client
	token   string
	timeout time.Duration // of a request
	watch   time.Duration // timeout of a blocking query; the server is asked to respond after half of it

	mu       sync.Mutex
	sessions map[string]string // by the key that it locks
}

func newDatabase(base *url.URL, secure *tls.Config, cfg Config) *database {
	transport := &http.Transport{TLSClientConfig: secure, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}
	return &database{base: base, http: &http.Client{Transport: transport}, token: cfg.Token, timeout: cfg.OperationTimeout, watch: cfg.WatchTimeout, sessions: map[string]string{}}
}

func (d *database) close() error {
	d.http.CloseIdleConnections()
	return nil
}

// pair is an entry in Consul's JSON format.
type pair struct {
	Key         string
	Value       []byte // in base64; null if it is empty
	ModifyIndex uint64
	Session     string // that locks it; empty: none
}

type operation struct{ KV verb }

type verb struct {
	Verb  string
	Key   string
	Value []byte `json:",omitempty"`
	Index uint64 `json:",omitempty"`
	// Session that locks the entry, for the verb lock.
	Session string `json:",omitempty"`
}

// outcome is the response to a transaction.
type outcome struct {
	Results []struct{ KV *pair }
	Errors  []struct {
		OpIndex int
		What    string
	}
}

// conflictError is the error of a transaction that had no effect because a
// condition was not met.
type conflictError struct{ what string }

func (e conflictError) Error() string { return e.what }

// missing reports whether a transaction failed because a key does not exist.
func missing(err error) bool {
	conflict, ok := errors.AsType[conflictError](err)
	return ok && strings.Contains(conflict.what, "doesn't exist")
}

// transact executes all operations or none. Consul allows at most 64.
func (d *database) transact(ctx context.Context, verbs ...verb) ([]pair, error) {
	ops := make([]operation, len(verbs))
	for i, v := range verbs {
		ops[i] = operation{v}
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	resp, text, err := d.do(ctx, http.MethodPut, "/v1/txn", nil, body)
	if err != nil {
		return nil, err
	}
	return decodeOutcome(resp.StatusCode, text)
}

func decodeOutcome(status int, text []byte) ([]pair, error) {
	if status != http.StatusOK && status != http.StatusConflict {
		return nil, refusal(status, text)
	}
	var out outcome
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("decode the response of Consul: %w", err)
	}
	if status == http.StatusConflict || len(out.Errors) > 0 {
		var what []string
		for _, e := range out.Errors {
			what = append(what, e.What)
		}
		conflict := conflictError{strings.Join(what, "; ")}
		if strings.Contains(conflict.what, "Permission denied") {
			return nil, refusal(http.StatusForbidden, []byte(conflict.what))
		}
		return nil, conflict
	}
	var pairs []pair
	for _, r := range out.Results {
		if r.KV != nil {
			pairs = append(pairs, *r.KV)
		}
	}
	return pairs, nil
}

// read returns the entries below a prefix. With an index it waits until one
// has changed since, but at most for half of the timeout of a watch.
func (d *database) read(ctx context.Context, prefix string, index uint64) (pairs []pair, now uint64, err error) {
	// Without "consistent", a server that has just started could return stale
	// entries.
	query := url.Values{"recurse": {""}, "consistent": {""}}
	timeout := d.timeout
	if index > 0 {
		timeout = d.watch
		query.Set("index", strconv.FormatUint(index, 10))
		query.Set("wait", (timeout / 2).String()) // Consul adds up to a sixteenth
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Consul would remove empty elements from the path.
	whole, _, _ := strings.Cut(prefix, "//")
	resp, text, err := d.do(ctx, http.MethodGet, "/v1/kv/"+whole, query, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, 0, fmt.Errorf("no response for %v (%w)", timeout, err)
	}
	if err != nil {
		return nil, 0, err
	}
	if pairs, err = decodePairs(resp.StatusCode, text); err != nil {
		return nil, 0, err
	}
	now, err = strconv.ParseUint(resp.Header.Get("X-Consul-Index"), 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("the response has no index; check that it is the address of Consul (%w)", err)
	}
	return below(prefix, pairs), now, nil
}

// newest returns the index of the last change of any key; 0 if the token does not permit to
// see it. The index of a prefix does not count deletions that are longer ago, so it may go
// back.
func (d *database) newest(ctx context.Context) uint64 {
	resp, _, err := d.get(ctx, "/v1/kv/", url.Values{"keys": {""}, "separator": {"/"}, "consistent": {""}})
	if err != nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotFound {
		return 0
	}
	index, err := strconv.ParseUint(resp.Header.Get("X-Consul-Index"), 10, 64)
	if err != nil {
		return 0
	}
	return index
}

// cluster returns the ID of the cluster as its service mesh has it; empty if the mesh
// is disabled (connect, which is enabled by default from Consul 1.14 on).
func (d *database) cluster(ctx context.Context) string {
	resp, text, err := d.get(ctx, "/v1/connect/ca/roots", nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	var roots struct{ TrustDomain string }
	if err := json.Unmarshal(text, &roots); err != nil {
		return ""
	}
	id, _, _ := strings.Cut(roots.TrustDomain, ".")
	if id == "" {
		return ""
	}
	return "cluster " + id
}

// get reads a path, with the timeout of one request.
func (d *database) get(ctx context.Context, path string, query url.Values) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	return d.do(ctx, http.MethodGet, path, query, nil)
}

func below(prefix string, pairs []pair) []pair {
	return slices.DeleteFunc(pairs, func(p pair) bool { return !strings.HasPrefix(p.Key, prefix) })
}

func decodePairs(status int, text []byte) (pairs []pair, err error) {
	switch status {
	case http.StatusNotFound:
		return nil, nil
	case http.StatusOK:
	default:
		return nil, refusal(status, text)
	}
	if err := json.Unmarshal(text, &pairs); err != nil {
		return nil, fmt.Errorf("decode the response of Consul: %w", err)
	}
	return pairs, nil
}

// refusal converts an error response to an error.
func refusal(status int, text []byte) error {
	message := strings.TrimSpace(string(text[:min(len(text), 300)]))
	switch {
	case status == http.StatusForbidden:
		return fmt.Errorf("not permitted: expected a token in consul.conf that may read and write the keys (%s)", message)
	case strings.Contains(message, "No cluster leader"):
		return fmt.Errorf("the cluster has no leader; check that a majority of its servers is running (%s)", message)
	case status == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("the value is too large for Consul: expected at most 512 KiB (%s)", message)
	}
	return fmt.Errorf("consul returned %d %s: %s", status, http.StatusText(status), message)
}

// do sends a request and reads the response.
func (d *database) do(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, []byte, error) {
	u := *d.base
	u.Path, u.RawQuery = path, query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if d.token != "" {
		req.Header.Set("X-Consul-Token", d.token)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return resp, text, err
}
