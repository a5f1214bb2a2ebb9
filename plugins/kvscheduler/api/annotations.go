package api

import (
	"errors"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// annotations checks values with the annotations of their type, which it compiles at first use. It is
// safe for concurrent use.
type annotations struct {
	compiled atomic.Pointer[models.Annotations]
}

// check returns an InvalidValueError for each field with a value that its annotation excludes, joined.
func (a *annotations) check(v proto.Message) error {
	if v == nil {
		return nil
	}
	m := v.ProtoReflect()
	compiled := a.compiled.Load()
	if d := m.Descriptor(); compiled == nil || compiled.Message != d {
		compiled = models.AnnotationsOf(d)
		a.compiled.Store(compiled)
	}
	var errs []error
	for _, violation := range compiled.Violations(m) {
		errs = append(errs, NewInvalidValueError(violation.Err, violation.Field))
	}
	return errors.Join(errs...)
}
