// Package safeclose closes what code written for cn-infra gives it: closers, channels, and
// nil.
package safeclose

import (
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Close closes an io.Closer, something with a Close that returns no error, or a channel.
// It does nothing for nil, nil pointers and nil channels. A panic, for example of a
// channel that is closed already, is returned as an error.
func Close(obj any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("close %T: %v", obj, r)
		}
	}()
	if isNil(obj) {
		return nil
	}
	switch c := obj.(type) {
	case io.Closer:
		return c.Close()
	case interface{ Close() }:
		c.Close()
		return nil
	}
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Chan && v.Type().ChanDir()&reflect.SendDir != 0 {
		v.Close()
		return nil
	}
	return fmt.Errorf("close %T: expected something with a method Close, or a channel", obj)
}

// CloseAll closes all of the objects in their order, also after one that fails, and
// returns the errors, joined.
func CloseAll(objs ...any) error {
	errs := make([]error, len(objs))
	for i, obj := range objs {
		errs[i] = Close(obj)
	}
	return errors.Join(errs...)
}

func isNil(obj any) bool {
	v := reflect.ValueOf(obj)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Chan, reflect.Map, reflect.Func, reflect.Slice:
		return v.IsNil()
	}
	return false
}
