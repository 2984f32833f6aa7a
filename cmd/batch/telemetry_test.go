package main

import (
	"testing"

	"batch.example/batch/internal/mask"
)

func TestACollectorsKeysAreHidden(t *testing.T) {
	a := appWith(t, map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS":        "x-key=first-key,Authorization=Basic%20c2Vjb25k,x-axiom-dataset=django",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-honeycomb-team = 4Fh7Qz91mWc83KpLx2Rt0V , lightstep-access-token=a%2Cb%2Cc%2Cd",
		"OTEL_EXPORTER_OTLP_ENDPOINT":       "https://me:address@h",
	})
	for _, secret := range []string{
		"first-key", "Basic c2Vjb25k", "Basic%20c2Vjb25k", "c2Vjb25k", "address", "4Fh7Qz91mWc83KpLx2Rt0V", "a,b,c,d", "a%2Cb%2Cc%2Cd",
	} {
		if got := a.mask.Text("a " + secret + "."); got != "a "+mask.Hidden+"." {
			t.Errorf("%q comes out as %q", secret, got)
		}
	}
	if got := a.mask.Text("django"); got != "django" {
		t.Errorf("a word that is not a secret comes out as %q", got)
	}
}
