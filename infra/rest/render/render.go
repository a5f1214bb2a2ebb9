// Package render writes responses for HTTP handlers that were written for cn-infra: its Render
// has the methods of github.com/unrolled/render but for HTML templates. Programs with
// templates keep all exported methods of all types and are a quarter larger. Other handlers
// use rest.WriteJSON.
package render

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
)

// Render writes responses. The zero value is ready for use, and may be used concurrently.
type Render struct{}

// JSON writes v as indented JSON. If v cannot be encoded, the response is the error with
// status 500.
func (r *Render) JSON(w io.Writer, status int, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	return r.encoded(w, status, "application/json; charset=UTF-8", append(text, '\n'), err)
}

// XML writes v as indented XML. If v cannot be encoded, the response is the error with
// status 500.
func (r *Render) XML(w io.Writer, status int, v any) error {
	text, err := xml.MarshalIndent(v, "", "  ")
	return r.encoded(w, status, "text/xml; charset=UTF-8", append(text, '\n'), err)
}

// Text writes plain text.
func (r *Render) Text(w io.Writer, status int, v string) error {
	return r.encoded(w, status, "text/plain; charset=UTF-8", []byte(v), nil)
}

// Data writes bytes, whose type is application/octet-stream unless the header says otherwise.
func (r *Render) Data(w io.Writer, status int, v []byte) error {
	return r.encoded(w, status, "application/octet-stream", v, nil)
}

func (r *Render) encoded(w io.Writer, status int, kind string, text []byte, err error) error {
	resp, isResponse := w.(http.ResponseWriter)
	switch {
	case err != nil && isResponse:
		http.Error(resp, err.Error(), http.StatusInternalServerError)
		return err
	case err != nil:
		return err
	case isResponse:
		if resp.Header().Get("Content-Type") == "" {
			resp.Header().Set("Content-Type", kind)
		}
		resp.WriteHeader(status)
	}
	_, err = w.Write(text)
	return err
}
