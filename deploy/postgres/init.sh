#!/bin/sh
# Makes a database and two roles for each service, in docker-compose.yml and the dev overlay: the owner migrates, the
# application reads and writes rows and can neither create nor alter nor truncate. A role reaches its own database
# alone. PostgreSQL's image runs it once, on an empty data directory. The same rights as deploy/stack gives
# (internal/infra/account.go).
set -eu
# Each role has a password of its own, in the variable of its name: PAYMENTS_APP_PASSWORD.
password() {
	name=$(echo "$1_password" | tr a-z A-Z)
	eval "value=\${$name:-}"
	echo "${value:?$name is not set}"
}
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC;
SQL
for service in callback_dispatcher console console_operators gateway payments reports wallets; do
	owner=$(password "${service}_owner")
	app=$(password "${service}_app")
	psql -v ON_ERROR_STOP=1 -v db="$service" -v owner="${service}_owner" -v app="${service}_app" \
		-v owner_password="$owner" -v app_password="$app" \
		--username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE :"owner" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'owner_password';
CREATE ROLE :"app" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'app_password';
CREATE DATABASE :"db" OWNER :"owner" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
\connect :"db"
REVOKE ALL ON DATABASE :"db" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"db" TO :"app";
REVOKE ALL ON SCHEMA public FROM PUBLIC;
ALTER SCHEMA public OWNER TO :"owner";
GRANT USAGE ON SCHEMA public TO :"app";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"app";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" GRANT USAGE, SELECT ON SEQUENCES TO :"app";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" GRANT EXECUTE ON FUNCTIONS TO :"app";
SQL
done
