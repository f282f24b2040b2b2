#!/usr/bin/env bash
# Crawls real documentation from an ordinary web server and compares with `wget --recursive -l inf`.
#
# nginx serves three Debian documentation packages under three host names on loopback. wget and escapement crawl the
# same names; both go to the same port, wget through `http_proxy`, escapement through `--resolve`. Then:
# the HTML URLs answered 200 must be the same set, each once by escapement, every gap at the server at least the delay.
# Usage: run.sh ESCAPEMENT [DELAY_MS]
set -euo pipefail
PATH=$PATH:/usr/sbin # where Debian keeps nginx
here=$(cd "$(dirname "$0")" && pwd)
escapement=$(realpath "$1")
delay_ms=${2:-100}
"$here/../../ops/build/setup.sh" nginx-light wget python3-doc apache2-doc git-doc

work=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
nginx_pid=''
finish() {
  [ -z "$nginx_pid" ] || kill "$nginx_pid" 2>/dev/null || true
  [ -n "${KEEP:-}" ] && echo "kept: $work" || rm -rf "$work"
}
trap finish EXIT

mkdir -p "$work/nginx/logs" "$work/wget"
cat >"$work/nginx/nginx.conf" <<CONF
daemon off;
pid $work/nginx/nginx.pid;
error_log $work/nginx/logs/error.log;
worker_processes 1;
events { worker_connections 512; }
http {
  include /etc/nginx/mime.types;
  # Time of arrival: nginx logs at the end of a request, so its duration is taken off by the comparison.
  log_format arrivals '\$msec \$request_time \$host \$request_uri \$status \$sent_http_content_type';
  client_body_temp_path $work/nginx/body;
  proxy_temp_path $work/nginx/proxy;
  fastcgi_temp_path $work/nginx/fastcgi;
  uwsgi_temp_path $work/nginx/uwsgi;
  scgi_temp_path $work/nginx/scgi;
  access_log $work/nginx/logs/access.log arrivals;
  server { listen 127.0.0.1:$port; server_name python.docs.example; root /usr/share/doc/python3-doc/html; }
  server { listen 127.0.0.1:$port; server_name httpd.docs.example; root /usr/share/doc/apache2-doc/manual/en; }
  server { listen 127.0.0.1:$port; server_name git.docs.example; root /usr/share/doc/git-doc; }
}
CONF
nginx -e "$work/nginx/logs/error.log" -p "$work/nginx" -c "$work/nginx/nginx.conf" &
nginx_pid=$!
sleep 1
kill -0 "$nginx_pid"

seeds="http://python.docs.example/index.html http://httpd.docs.example/index.html http://git.docs.example/git.html"
printf '%s\n' $seeds >"$work/seeds"

echo "wget --recursive -l inf --no-directories --delete-after -e robots=on -e http_proxy=127.0.0.1:$port $seeds"
for seed in $seeds; do # one run a host: wget stays on the host of its seed
  (cd "$work/wget" && http_proxy="127.0.0.1:$port" wget --quiet --recursive -l inf --no-directories --delete-after \
    -e robots=on "$seed") || true # wget exits 8 when any link is broken
done
sleep 1
cp "$work/nginx/logs/access.log" "$work/wget.log"

echo "escapement crawl --seeds FILE --out DIR --delay ${delay_ms}ms --scope host --allow-net 127.0.0.0/8 --resolve '*=127.0.0.1:$port' --json"
"$escapement" crawl --seeds "$work/seeds" --out "$work/crawl" --delay "${delay_ms}ms" --scope host \
  --allow-net 127.0.0.0/8 --resolve "*=127.0.0.1:$port" --json >"$work/summary"
tail -n 1 "$work/summary"
sleep 1
tail -c +$(($(stat -c %s "$work/wget.log") + 1)) "$work/nginx/logs/access.log" >"$work/crawl.log"
"$here/compare.sh" "$work/wget.log" "$work/crawl.log" "$delay_ms"
