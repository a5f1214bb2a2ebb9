package supervisor

import (
	"os"
	"sync"
)

// logFile is a file that is appended to.
type logFile struct {
	path string
	mu   sync.Mutex
	f    *os.File
}

func openLog(path string) (*logFile, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	return &logFile{path: path, f: f}, nil
}

func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Write(p)
}

// Reopen opens the file at the path again, which may have been replaced.
func (l *logFile) Reopen() error {
	f, err := open(l.path)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.f
	l.f = f
	return old.Close()
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}
