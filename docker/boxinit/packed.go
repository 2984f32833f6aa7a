package boxinit

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"time"

	"github.com/docker/docker/api/types/mount"

	"batch.example/batch/fault"
)

// inits is the helper for each machine: scripts/boxinit puts it there.
//
//go:embed linux-*.gz
var inits embed.FS

// packed is the helper for one engine.
type packed struct {
	volume string
	gz     []byte
}

func (p *packed) mount() mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: p.volume, Target: Dir, ReadOnly: true,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: map[string]string{label: ""}},
	}
}

// packedFor returns the helper for a machine by its operating system and its
// architecture as the engine names them: Docker as uname does, Podman as Go does.
// That of the image does not count: the kernel runs both.
func packedFor(system, machine string) (*packed, error) {
	arch := map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[machine]
	if system != "linux" || arch == "" {
		return nil, fault.Newf(fault.Host, "looking for batch's helper: there is none for an engine on %s/%s", system, machine).
			WithHint("use an engine on linux/amd64 or linux/arm64")
	}
	gz, err := inits.ReadFile("linux-" + arch + ".gz")
	if err != nil {
		return nil, fault.New(fault.Bug, "looking for batch's helper", err)
	}
	sum := sha256.Sum256(gz)
	return &packed{fmt.Sprintf("%s%s-%x", volumePrefix, arch, sum[:6]), gz}, nil
}

// archive is the helper as the engine unpacks it: under another name first, then
// linked to its own. So it is there or not, and never half there; and a refill
// writes to no file that runs, nor to one that another process is filling.
func (p *packed) archive() (io.Reader, error) {
	r, err := gzip.NewReader(bytes.NewReader(p.gz))
	if err != nil {
		return nil, err
	}
	program, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	part, made := "."+rand.Text(), time.Unix(0, 0)
	err = w.WriteHeader(&tar.Header{Name: part, Mode: 0o755, Size: int64(len(program)), ModTime: made})
	if err == nil {
		_, err = w.Write(program)
	}
	if err == nil {
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: file, Linkname: part, Mode: 0o755, ModTime: made})
	}
	if err == nil {
		err = w.Close()
	}
	return &buf, err
}
