package archtest

import (
	"bytes"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestTheReleaseConfigurationIsValid reads .goreleaser.yaml as far as goreleaser and
// scripts/release use it: another key is a mistake.
func TestTheReleaseConfigurationIsValid(t *testing.T) {
	data, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Version     int
		ProjectName string `yaml:"project_name"`
		Before      struct{ Hooks []string }
		Builds      []struct {
			ID, Main, Binary                  string
			Goos, Goarch, Env, Flags, Ldflags []string
			ModTimestamp                      string `yaml:"mod_timestamp"`
		}
		Archives []struct {
			Formats         []string
			NameTemplate    string `yaml:"name_template"`
			WrapInDirectory bool   `yaml:"wrap_in_directory"`
			Files           []any
		}
		Checksum struct {
			NameTemplate string `yaml:"name_template"`
			Algorithm    string
		}
		Snapshot struct {
			VersionTemplate string `yaml:"version_template"`
		}
		Changelog struct{ Disable bool }
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		t.Fatal(err)
	}
	if c.Version != 2 || len(c.Builds) != 1 || len(c.Builds[0].Goos)*len(c.Builds[0].Goarch) == 0 {
		t.Errorf("version %d, builds %+v; want version 2 and one build with targets", c.Version, c.Builds)
	}
}
