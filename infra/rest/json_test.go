package rest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rest"
)

type byPointer struct{ Name string }

func (p *byPointer) MarshalJSON() ([]byte, error) {
	if p.Name == "" {
		return nil, errors.New("no name")
	}
	return json.Marshal("pointer to " + p.Name)
}

// fields is a struct with lists and all that decides which fields are shown.
type fields struct {
	hidden  []int
	Skipped []string        `json:"-"`
	Named   []int           `json:"other_name"`
	Empty   []int           `json:",omitempty"`
	Zero    time.Time       `json:",omitzero"`
	Time    time.Time       `json:",omitzero"`
	No      bool            `json:",omitempty"`
	Yes     bool            `json:"yes,omitempty"`
	Struct  struct{ A int } `json:",omitempty"`
	Nested  *fields         `json:",omitempty"`
	Items   []byPointer
	Last    []any
}

func record(n int) *fields {
	f := &fields{hidden: make([]int, n), Skipped: make([]string, n), Named: make([]int, n), Time: time.Unix(1, 0).UTC(), Yes: true}
	for range n {
		f.Items = append(f.Items, byPointer{"<x>"})
	}
	f.Nested = &fields{Named: make([]int, 2*n)}
	return f
}

// A list is written as json.MarshalIndent encodes it.
func TestWriteJSONLists(t *testing.T) {
	t.Parallel()
	type item struct {
		Key   string
		Inner []int `json:",omitempty"`
	}
	for _, v := range []any{
		[]item{}, []item(nil), []item{{Key: "a"}}, []item{{Key: "a", Inner: []int{1, 2}}, {Key: "<b>"}}, []*item{nil, {Key: "c"}},
		[]any{1, "x", nil, map[string]int{"y": 1}}, [][]int{{1}, {}, nil}, []byte("text"), json.RawMessage(`[1, 2]`),
		[]byPointer{{"a"}, {"b"}}, "text", nil, map[string][]int{"a": {1}},
		record(0), record(200), []*fields{record(1), record(150), nil}, *record(200),
	} {
		want, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		rest.WriteJSON(w, http.StatusAccepted, v)
		if got := w.Body.String(); got != string(want)+"\n" || w.Code != http.StatusAccepted {
			t.Errorf("%d %s\nwant %s", w.Code, got, want)
		}
	}
}

// longest is the longest piece that was written at once.
type longest struct {
	http.ResponseWriter
	n int
}

func (l *longest) Write(b []byte) (int, error) {
	l.n = max(l.n, len(b))
	return l.ResponseWriter.Write(b)
}

// The text of a long list is never in memory as a whole.
func TestWriteJSONInPieces(t *testing.T) {
	t.Parallel()
	list := make([]string, 1000)
	for i := range list {
		list[i] = "0123456789"
	}
	w := &longest{ResponseWriter: httptest.NewRecorder()}
	rest.WriteJSON(w, http.StatusOK, list)
	rest.WriteJSON(w, http.StatusOK, []*struct{ List []string }{{list}})
	if w.n > 300 {
		t.Errorf("%d bytes at once", w.n)
	}
}

// An error of the first element has a status of its own; after that the connection ends.
func TestWriteJSONErrors(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	rest.WriteJSON(w, http.StatusOK, []byPointer{{}, {"b"}})
	if w.Code != http.StatusInternalServerError || !bytes.Contains(w.Body.Bytes(), []byte("no name")) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("%v", got)
		}
	}()
	rest.WriteJSON(httptest.NewRecorder(), http.StatusOK, []byPointer{{"a"}, {}})
}
