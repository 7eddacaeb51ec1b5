#!/usr/bin/env bash
# Writes docs/conformance.md: what the fakes and the real servers answer to the
# same questions. Without LATLAB_POSTGIS a private PostGIS is started and removed.
# With LATLAB_AEROSPIKE the tests of the Aerospike fake run on that server, too.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${LATLAB_POSTGIS:-}" ]; then
	script=$PWD/docs/conformance.sh
	cd spatial && exec go run ./cmd/postgis run -- "$script"
fi

go run ./coldfetch/cmd/s3 build -bin .bin

new=$(mktemp docs/.conformance.XXXXXX)
trap 'rm -f "$new"' EXIT

# version MODULE_FOLDER DEPENDENCY
version() { (cd "$1" && GOWORK=off go list -m -f '{{.Version}}' "$2"); }

# passes FOLDER PATTERN runs tests and prints a row a test: what ran, and whether it
# passed. A test with parts is shown by its parts.
passes() {
	(cd "$1" && go test -count=1 -v -run "$2" . || true) | awk '
		/^ *--- (PASS|FAIL|SKIP): / {
			result = $2; sub(":", "", result)
			n++; test[n] = $3; got[n] = result
			if (split($3, part, "/") > 1) parts[part[1]]++
		}
		END {
			say["PASS"] = "passes"; say["FAIL"] = "**fails**"; say["SKIP"] = "not run: no server is named"
			for (i = 1; i <= n; i++) if (!(test[i] in parts)) {
				name = test[i]; sub("^Test[A-Za-z]*/", "", name); gsub("_", " ", name); sub("^Test", "", name)
				print "| " name " | " say[got[i]] " |"
			}
		}'
}

# unexplained FILE prints the rows of the PostGIS table whose answers differ without
# a note, and failed tests.
unexplained() {
	awk -F' *[|] *' '
		/^## / { section = $0 }
		section ~ /PostGIS/ && NF == 6 && $3 != $4 && $5 == "" { print }
		/[*][*]fails[*][*]/ { print }' "$1"
}

{
	cat <<TEXT
# Fakes against real servers

Made by \`make conformance\` on $(date -u +%F), on $(go env GOOS)/$(go env GOARCH) with $(go env GOVERSION). Each table comes from one list of cases, which is run on the fake and on the real server. The same lists are run by tests, in \`.ci/run\` with both real servers.

Two answers may differ only where the table says why. The command fails on any other difference.

## S3: coldfetch/fake

Clients: minio-go $(version coldfetch/conformance github.com/minio/minio-go/v7), aws-sdk-go-v2/service/s3 $(version coldfetch/conformance github.com/aws/aws-sdk-go-v2/service/s3). The real server is named in the heads of the columns. It runs on loopback, with its objects as files.

TEXT
	(cd coldfetch/conformance && GOWORK=off go run .)
	cat <<TEXT

## PostgreSQL with PostGIS: spatial/fake

Client: pgx $(version spatial github.com/jackc/pgx/v5). Server: $(psql "$LATLAB_POSTGIS" -Atc "select 'PostgreSQL ' || split_part(version(), ' ', 2) || ', PostGIS ' || postgis_lib_version()"). Rows are counted, their distances summed, and their ids, in order, hashed. An error is shown by its SQLSTATE; an empty statement has an empty answer.

TEXT
	(cd spatial && go run ./cmd/conformance)
	cat <<TEXT

## Aerospike: aerospike/fake

Client: aerospike-client-go $(version aerospike github.com/aerospike/aerospike-client-go/v7). One list of assertions runs on every target: put, get, header, exists, operate and delete of one record with every particle; create over a record, an old generation, replace; batches of 1800 keys in nine sets with misses, duplicates and shared user keys. A target passes if all of them hold. A real server is used where \`LATLAB_AEROSPIKE=host:port\` names one; only sets that begin with \`latlab_\` are written, and they are emptied.

| target | all assertions |
|---|---|
TEXT
	passes aerospike/fake '^TestClient$'
	cat <<TEXT

## The block device: rawblock/fake

The fake stands for a file or a device. The store's first test, keys there and back, runs on the fake with every strategy and layout, with a device that takes batches and one that doesn't, and on a real file (RoundTripOnAFile).

| target | all keys come back |
|---|---|
TEXT
	passes rawblock '^TestRoundTrip'
} >"$new"
if [ -n "$(unexplained "$new")" ]; then
	echo "conformance: not explained:" >&2
	unexplained "$new" >&2
	exit 1
fi
chmod 644 "$new"
mv "$new" docs/conformance.md
echo "docs/conformance.md"
