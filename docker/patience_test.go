package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/fault"
)

func TestInvalidCertificatesAreAUsageFault(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a text":   func(path string) error { return os.WriteFile(path, []byte("no certificate"), 0o600) },
	} {
		for _, file := range []string{"ca.pem", "cert.pem"} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("no key"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			e, err := Connect(t.Context(), Config{Host: "tcp://127.0.0.1:1", CertPath: dir, TLSVerify: true, ConfigDir: t.TempDir()})
			if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "check DOCKER_CERT_PATH") {
				t.Errorf("%s is %s: %v, hint %q; want a Usage fault, %q",
					file, name, err, fault.HintOf(err), "check DOCKER_CERT_PATH")
			}
			if e != nil {
				t.Errorf("%s is %s: Connect returned an engine", file, name)
			}
		}
	}
}
