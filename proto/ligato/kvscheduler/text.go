// Package kvscheduler has the states and statuses of values. JSON has the names of
// states and operations.
package kvscheduler

import (
	"fmt"
	"strconv"
)

// MarshalText returns the name of the state: JSON has names, not numbers.
func (x ValueState) MarshalText() ([]byte, error) { return []byte(x.String()), nil }

// UnmarshalText accepts the name or the number of a state.
func (x *ValueState) UnmarshalText(text []byte) error {
	n, err := numberOf(string(text), ValueState_value, "a state as in CONFIGURED")
	*x = ValueState(n)
	return err
}

// MarshalText returns the name of the operation: JSON has names, not numbers.
func (x TxnOperation) MarshalText() ([]byte, error) { return []byte(x.String()), nil }

// UnmarshalText accepts the name or the number of an operation.
func (x *TxnOperation) UnmarshalText(text []byte) error {
	n, err := numberOf(string(text), TxnOperation_value, "an operation as in CREATE")
	*x = TxnOperation(n)
	return err
}

func numberOf(text string, values map[string]int32, expected string) (int32, error) {
	if n, ok := values[text]; ok {
		return n, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q: expected %s, or its number", text, expected)
	}
	return int32(n), nil
}
