package mask_test

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"batch.example/batch/internal/mask"
)

func TestLooksSecret(t *testing.T) {
	for _, value := range []string{
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"ghp_16C7e42F292c6912E7710c838347Ae178B4a",
		"f47ac10b-58cc-4372-a567-0e02b2c3d479",
		"F47AC10B-58CC-4372-A567-0E02B2C3D479",
		"5d41402abc4b2a76b9719d911017c592",
		"5d41402abc4b2a76",
		"a1b2c3d4a1b2c3d4",
		"Bearer 5d41402abc4b2a76b9719d911017c592",
		"xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dGhpcyBpcyBub3QgYSBzaWduYXR1cmU",
		"glpat-x9Kq2mVt7RbZ4nWcYs3D",
		"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----\n",
		`{"private_key_id":"5d41402abc4b2a76b9719d911017c592","type":"service_account"}`,
	} {
		if !mask.LooksSecret(value) {
			t.Errorf("%q is not recognized as a secret", value)
		}
	}
	for _, value := range []string{
		"", "test", "postgres", "changeme", "password123", "development", "secret", "minioadmin", "true", "P@ssw0rd2024!",
		"mysupersecretpassword", "MySuperSecretPassword", "correct horse battery staple", "not-a-real-key", "your-api-key-here",
		"dummy-key-for-testing-only", "local_development_only_1", "1234567890123456", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz",
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "a1a1a1a1a1a1a1a1a1a1", "abc123abc123abc123", "aB3$kL9!mN2x", "5d41402abc4b2a7", "a1b2c3d1a1b2c3d1",
		"/home/user1/.ssh/id_ed25519", "/run/secrets/kubernetes.io/serviceaccount/token", "C:\\Users\\Me\\Documents\\key.pem",
		"2024-11-22T13:57:46.123Z", "Mon Jan 2 15:04:05 2006", "OpenSSH 9.2p1 Debian 2 deb12u3", "us-east-1.compute.internal",
		"arn:aws:secretsmanager:us-east-1:123456789012:secret:database", "org.apache.kafka.common.serialization.StringSerializer",
		"postgres://postgres:postgres@localhost:5432/postgres", "admin@example.com", "ASCII only: \u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc",
	} {
		if mask.LooksSecret(value) {
			t.Errorf("%q is wrongly recognized as a secret", value)
		}
	}
}

func TestGeneratedKeysLookLikeSecrets(t *testing.T) {
	const some, most = 5000, 10 // of some keys of a kind, at most most may be missed
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	from := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(b)
	}
	const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	hexadecimal := func(n int) string { return hex.EncodeToString(random(n)) }
	for _, kind := range []struct {
		name     string
		generate func() string
	}{
		{"32 hexadecimal digits", func() string { return hexadecimal(16) }},
		{"40 hexadecimal digits", func() string { return hexadecimal(20) }},
		{"UUIDs", func() string {
			return hexadecimal(4) + "-" + hexadecimal(2) + "-4" + hexadecimal(2)[1:] + "-8" + hexadecimal(2)[1:] + "-" + hexadecimal(6)
		}},
		{"32 letters and digits", func() string { return from(alphanumeric, 32) }},
		{"GitHub's", func() string { return "ghp_" + from(alphanumeric, 36) }},
		{"OpenAI's", func() string { return "sk-proj-" + from(alphanumeric+"_-", 48) }},
		{"24 bytes in base64", func() string { return base64.StdEncoding.EncodeToString(random(24)) }},
		{"32 bytes in base64", func() string { return base64.RawURLEncoding.EncodeToString(random(32)) }},
	} {
		missed := 0
		for range some {
			if !mask.LooksSecret(kind.generate()) {
				missed++
			}
		}
		if missed > most {
			t.Errorf("%s: %d of %d are not recognized as secrets", kind.name, missed, some)
		}
	}
}
