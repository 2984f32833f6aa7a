package docker

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

// boxInits is the helper for each machine: scripts/boxinit puts it there.
//
//go:embed boxinit/linux-*.gz
var boxInits embed.FS

// packedInit is the helper for one engine.
type packedInit struct {
	volume string
	gz     []byte
}

func (p *packedInit) mount() mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: p.volume, Target: boxInitDir, ReadOnly: true,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: map[string]string{labelBoxInit: ""}},
	}
}

// packedFor returns the helper for a machine by its operating system and its
// architecture as the engine names them: Docker as uname does, Podman as Go does.
// That of the image does not count: the kernel runs both.
func packedFor(system, machine string) (*packedInit, error) {
	arch := map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[machine]
	if system != "linux" || arch == "" {
		return nil, fault.Newf(fault.Host, "looking for batch's helper: there is none for an engine on %s/%s", system, machine).
			WithHint("use an engine on linux/amd64 or linux/arm64")
	}
	gz, err := boxInits.ReadFile("boxinit/linux-" + arch + ".gz")
	if err != nil {
		return nil, fault.New(fault.Bug, "looking for batch's helper", err)
	}
	sum := sha256.Sum256(gz)
	return &packedInit{fmt.Sprintf("%s%s-%x", boxInitVolume, arch, sum[:6]), gz}, nil
}

// archive is the helper as the engine unpacks it: under another name first, then
// linked to its own. So it is there or not, and never half there; and a refill
// writes to no file that runs, nor to one that another process is filling.
func (p *packedInit) archive() (io.Reader, error) {
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
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: boxInitFile, Linkname: part, Mode: 0o755, ModTime: made})
	}
	if err == nil {
		err = w.Close()
	}
	return &buf, err
}
