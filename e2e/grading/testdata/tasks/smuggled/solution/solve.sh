#!/bin/bash
[ "$(ls /sys/class/net)" = lo ] || exit 1
mkdir -p out notes
echo hello >out/hello.txt
printf '#!/bin/sh\necho runs\n' >out/program
chmod +x out/program
ln -s program out/run
echo a >notes/a.txt
echo b >notes/b.tmp
echo state >state.txt
