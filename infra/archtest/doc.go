// Package archtest holds the rules of the house as tests: who may import whom,
// and what source code may look like. Every failure says why the rule exists.
// It has no code besides its tests.
package archtest
