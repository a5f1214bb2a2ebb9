package api

import (
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// annotations checks values with the annotations of their types, which it compiles at first use. It is
// safe for concurrent use.
type annotations struct {
	// partial reports that values may lack required fields: derived values have what their descriptor needs
	// of a valid value.
	partial  bool
	compiled sync.Map // *models.Annotations by protoreflect.MessageDescriptor
}

// check returns an InvalidValueError for each field with a value that its annotation excludes, joined.
func (a *annotations) check(v proto.Message) error {
	if v == nil {
		return nil
	}
	m := v.ProtoReflect()
	compiled, ok := a.compiled.Load(m.Descriptor())
	if !ok {
		compiled, _ = a.compiled.LoadOrStore(m.Descriptor(), models.AnnotationsOf(m.Descriptor()))
	}
	var errs []error
	for _, violation := range compiled.(*models.Annotations).Violations(m) {
		if !violation.Missing || !a.partial {
			errs = append(errs, NewInvalidValueError(violation.Err, violation.Field))
		}
	}
	return errors.Join(errs...)
}
