package configurator

import "testing"

func TestStatistics(t *testing.T) {
	t.Parallel()
	var s statistics
	if r := s.response(); r.AllOperations.Count != 0 || r.Operations == nil {
		t.Errorf("before the first call: %+v", r)
	}
	for _, method := range []string{"Update", "Get", "Update"} {
		s.timed(method)()
	}
	r := s.response()
	if len(r.Operations) != 2 || r.Operations[0].Name != "Get" || r.Operations[1].Count != 2 || r.AllOperations.Count != 3 {
		t.Fatalf("%+v", r)
	}
	u := r.Operations[1]
	if u.Min <= 0 || u.Min > u.Avg || u.Avg > u.Max || u.Total < u.Max || r.AllOperations.Total < u.Total {
		t.Errorf("times %+v of all %+v", u, r.AllOperations)
	}
}
