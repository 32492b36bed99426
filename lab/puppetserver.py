"""A private puppetserver from Debian's package: the peer of the fetch benchmark.

It listens on loopback without TLS, and so does less work than Precast, and caches its environments for ever. It has its default number of
interpreters: one less than there are processors. A header names the node that asks, as behind a proxy.
"""

import http.client
import json
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import java_service
from lab.java_service import JavaService

JAR = Path("/usr/share/puppetserver/puppetserver.jar")
JAVA = ("java", "-Xms1g", "-Xmx2g", "-Djruby.lib=/usr/share/jruby/lib", "-Djava.security.egd=/dev/urandom")
LIBRARY = "/usr/lib/puppetserver"

CONFIG = """
global: {{ logging-config: {place}/logback.xml }}
jruby-puppet: {{
    ruby-load-path: [{library}/ruby/vendor_ruby]
    gem-home: {place}/gems
    gem-path: [{place}/gems, "{library}/vendored-jruby-gems"]
    server-conf-dir: {place}/conf
    server-code-dir: {place}/code
    server-var-dir: {place}/var
    server-run-dir: {place}/run
    server-log-dir: {place}/log
}}
webserver: {{ host: 127.0.0.1, port: {port} }}
web-router-service: {{
    "puppetlabs.services.master.master-service/master-service": "/puppet"
    "puppetlabs.services.puppet-admin.puppet-admin-service/puppet-admin-service": "/puppet-admin-api"
    "puppetlabs.trapperkeeper.services.status.status-service/status-service": "/status"
    "puppetlabs.trapperkeeper.services.metrics.metrics-service/metrics-webservice": "/metrics"
}}
metrics: {{ server-id: localhost, registries: {{}} }}
product: {{ check-for-updates: false }}
authorization: {{
    version: 1
    allow-header-cert-info: true
    rules: [{{ match-request: {{ path: "/", type: path }}, allow-unauthenticated: true, sort-order: 1, name: "all" }}]
}}
"""
PUPPET_CONF = """
[main]
environment_timeout = unlimited
user = root
group = root
certname = localhost
[server]
storeconfigs = false
reports = none
"""
LOGBACK = """
<configuration>
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%p %c %m%n</pattern></encoder></appender>
  <root level="warn"><appender-ref ref="STDOUT"/></root>
</configuration>
"""
SERVICES = """
puppetlabs.services.request-handler.request-handler-service/request-handler-service
puppetlabs.services.jruby.jruby-puppet-service/jruby-puppet-pooled-service
puppetlabs.services.jruby-pool-manager.jruby-pool-manager-service/jruby-pool-manager-service
puppetlabs.services.puppet-profiler.puppet-profiler-service/puppet-profiler-service
puppetlabs.trapperkeeper.services.webserver.jetty9-service/jetty9-service
puppetlabs.trapperkeeper.services.webrouting.webrouting-service/webrouting-service
puppetlabs.services.config.puppet-server-config-service/puppet-server-config-service
puppetlabs.services.master.master-service/master-service
puppetlabs.services.puppet-admin.puppet-admin-service/puppet-admin-service
puppetlabs.trapperkeeper.services.authorization.authorization-service/authorization-service
puppetlabs.services.versioned-code-service.versioned-code-service/versioned-code-service
puppetlabs.trapperkeeper.services.scheduler.scheduler-service/scheduler-service
puppetlabs.trapperkeeper.services.status.status-service/status-service
puppetlabs.trapperkeeper.services.metrics.metrics-service/metrics-service
puppetlabs.trapperkeeper.services.metrics.metrics-service/metrics-webservice
puppetlabs.services.jruby.jruby-metrics-service/jruby-metrics-service
puppetlabs.services.ca.certificate-authority-disabled-service/certificate-authority-disabled-service
"""


def why_missing() -> str | None:
    """The reason why puppetserver cannot run on this machine, or None if it can."""
    return java_service.why_missing(JAR, "puppetserver")


class PuppetServer(JavaService):
    """A puppetserver whose environments are in the directory `environments`."""

    def __init__(self) -> None:
        super().__init__("puppetserver")
        self.environments = self.place / "code" / "environments"
        self.environments.mkdir(parents=True)

    def catalog(self, node: str, facts: dict[str, Any]) -> bytes:
        """Request a catalog as an agent does. Raises RuntimeError with the server's message."""
        document = json.dumps({"name": node, "values": facts})
        form = {"environment": "production", "facts_format": "application/json", "facts": urllib.parse.quote(document)}
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/vnd.puppet.rich+json, application/json",
            "X-Client-Verify": "SUCCESS",
            "X-Client-DN": f"CN={node}",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request("POST", f"/puppet/v3/catalog/{node}", urllib.parse.urlencode(form), headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"puppetserver answered {answer.status}: {body[:2000].decode(errors='replace')}")
        return body

    def prepare(self) -> Sequence[str]:
        for name in ("conf", "var", "run", "log", "gems", "conf.d"):
            (self.place / name).mkdir()
        text = CONFIG.format(place=self.place, library=LIBRARY, port=self.port)
        (self.place / "conf.d" / "all.conf").write_text(text)
        (self.place / "conf" / "puppet.conf").write_text(PUPPET_CONF)
        (self.place / "logback.xml").write_text(LOGBACK)
        (self.place / "services.cfg").write_text(SERVICES)
        command = [*JAVA, "-jar", str(JAR), "--config", str(self.place / "conf.d")]
        return [*command, "--bootstrap-config", str(self.place / "services.cfg")]

    def is_ready(self) -> bool:
        return self.get("/status/v1/simple") == b"running"
