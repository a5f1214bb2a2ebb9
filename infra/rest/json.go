package rest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
)

// indent is the indentation of responses.
const indent = "  "

// WriteJSON responds with v as indented JSON. It encodes and writes the elements of a
// slice one after the other, because the text of a large configuration takes several times
// the memory of its values. If an element other than the first cannot be encoded, it
// closes the connection in the middle of the response.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	list, isList := elements(v)
	first, prefix := v, ""
	if isList {
		first, prefix = list(0), indent
	}
	body, err := json.MarshalIndent(first, prefix, indent)
	if err != nil {
		WriteError(w, http.StatusInternalServerError, fmt.Errorf("encode the response: %w", err))
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if isList {
		writeElements(w, body, reflect.ValueOf(v).Len(), list)
		return
	}
	_, _ = w.Write(append(body, '\n')) // fails only if the client has disconnected
}

// elements returns pointers to the elements of a slice that is a list in JSON; false for
// other values and if there is none.
func elements(v any) (at func(i int) any, ok bool) {
	list := reflect.ValueOf(v)
	if _, own := v.(json.Marshaler); own || list.Kind() != reflect.Slice || list.Len() == 0 {
		return nil, false
	}
	if list.Type().Elem().Kind() == reflect.Uint8 { // shown as text
		return nil, false
	}
	return func(i int) any { return list.Index(i).Addr().Interface() }, true
}

// writeElements writes a list whose first element is encoded already.
func writeElements(w io.Writer, body []byte, length int, at func(i int) any) {
	_, err := io.WriteString(w, "[\n"+indent)
	for i := 0; err == nil; i++ {
		if _, err = w.Write(body); err != nil { // the client has disconnected
			return
		}
		if i+1 == length {
			break
		}
		next, failed := json.MarshalIndent(at(i+1), indent, indent)
		if failed != nil {
			panic(http.ErrAbortHandler) /* ok: the status was sent, and the answer is incomplete */
		}
		body = append([]byte(",\n"+indent), next...)
	}
	_, _ = io.WriteString(w, "\n]\n")
}
