package consul

import (
	"net/http"
	"strings"
	"testing"
)

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`[{"LockIndex":0,"Key":"p/a","Flags":0,"Value":"MQ==","CreateIndex":5,"ModifyIndex":6}]`))
	f.Add([]byte(`{"Results":[{"KV":{"Key":"a","Value":null}}],"Errors":null}`))
	f.Add([]byte(`{"Results":null,"Errors":[{"OpIndex":0,"What":"key \"x\" doesn't exist"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, status := range []int{http.StatusOK, http.StatusNotFound, http.StatusConflict, http.StatusForbidden} {
			pairs, err := decodePairs(status, text)
			if err != nil && pairs != nil {
				t.Errorf("an error, but also entries: %v", err)
			}
			for _, p := range below("p/", pairs) {
				if !strings.HasPrefix(item(p).Key, "/p/") || item(p).Value == nil {
					t.Errorf("entry %+v", p)
				}
			}
			if pairs, err := decodeOutcome(status, text); status != http.StatusOK && (err == nil || pairs != nil) {
				t.Errorf("answer %d: %v, %v", status, pairs, err)
			}
		}
	})
}
