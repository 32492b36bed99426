"""A module with types and providers in Ruby, which do everything that a bridge must carry, and note each call in a file.

A cell is a line of JSON in the file `store`. Its provider prefetches all cells and writes them in `flush`. A `probe` does whatever its
parameters say: it hangs, dies, fails, prints, or generates files. Puppet and Precast apply both.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from precast.catalog.body import PLUGIN_SCHEME

NAME = "cells"

_CELL = r"""
Puppet::Type.newtype(:bridge_cell) do
  @doc = 'A value in a file of values.'
  feature :counting, 'The provider counts.', methods: [:count]
  ensurable
  newparam(:name, namevar: true) do
    validate { |value| raise ArgumentError, "a name has no blanks, unlike #{value.inspect}" if value =~ /\s/ }
  end
  newparam(:store) { desc 'The file.' }
  newparam(:after) { desc 'Another cell or file that comes first.' }
  newproperty(:value) do
    munge { |value| value.to_s.downcase }
  end
  newproperty(:labels, array_matching: :all) do
    def insync?(is)
      is.is_a?(Array) && is.sort == should.sort
    end

    def change_to_s(current, wanted)
      "labels are #{wanted.sort.join('+')} now"
    end
  end
  newproperty(:token) { desc 'A secret.' }
  newproperty(:count, required_features: :counting) { munge { |value| Integer(value) } }
  autorequire(:bridge_cell) { self[:after] }
  autorequire(:file) { [File.dirname(self[:store].to_s), self[:after]].compact }
  validate { raise ArgumentError, 'a cell needs a store' if self[:store].nil? }

  def refresh
    provider.note('refresh')
  end
end
"""

_CELL_PROVIDER = r"""
require 'json'
require 'cells/notes'

Puppet::Type.type(:bridge_cell).provide(:json) do
  include Cells::Notes
  has_features :counting
  mk_resource_methods

  def self.read(store)
    File.exist?(store) ? JSON.parse(File.read(store)) : {}
  end

  def self.prefetch(resources)
    resources.values.group_by { |resource| resource[:store] }.each do |store, cells|
      Cells::Notes.write(store, "prefetch #{cells.map(&:name).sort.join(',')}")
      found = read(store)
      cells.each { |cell| cell.provider = new(state(cell.name, found[cell.name])) }
    end
  end

  def self.state(name, data)
    return { name: name, ensure: :absent } if data.nil?

    { name: name, ensure: :present, value: data['value'], labels: data['labels'], token: data['token'], count: data['count'] }
  end

  def exists?
    @property_hash[:ensure] == :present
  end

  def create
    resource.class.validproperties.each { |name| @property_hash[name] = resource.should(name) unless resource.should(name).nil? }
    @property_hash[:ensure] = :present
    @changed = true
  end

  def destroy
    @property_hash = { name: resource.name, ensure: :absent }
    @changed = true
  end

  %i[value= labels= token= count=].each do |setter|
    define_method(setter) do |wanted|
      @property_hash[setter.to_s.chomp('=').to_sym] = wanted
      @changed = true
    end
  end

  def flush
    note('flush')
    return unless @changed

    all = self.class.read(resource[:store])
    all.delete(resource.name)
    if exists?
      kept = %i[value labels token count].to_h { |name| [name.to_s, @property_hash[name]] }
      all[resource.name] = kept.reject { |_, value| value.nil? || value == :absent }
    end
    File.write(resource[:store], JSON.generate(all.sort.to_h))
  end
end
"""

_NOTES = r"""
# Notes the calls of providers beside the store.
module Cells
  module Notes
    def self.write(store, text)
      File.open("#{store}.calls", 'a') { |file| file.puts(text) }
    end

    def note(text)
      Notes.write(resource[:store], "#{text} #{resource.name}")
    end
  end
end
"""

_PROBE = r"""
Puppet::Type.newtype(:bridge_probe) do
  newparam(:name, namevar: true)
  newparam(:timeout)
  newparam(:makes, array_matching: :all)
  newparam(:pidfile)
  newparam(:says)
  newproperty(:does) do
    defaultto 'nothing'
    def retrieve
      case should
      when 'hang' then
        pid = spawn('sleep 300')
        File.write(resource[:pidfile], pid.to_s)
        sleep 300
      when 'die' then exit!(3)
      when 'exit' then exit(4)
      when 'fail' then raise Puppet::Error, "it failed with #{resource[:says]}"
      when 'print' then
        puts 'x' * 200_000
        warn 'y' * 200_000
        system('echo printed; echo printed >&2; cat')
      end
      should == 'change' ? 'unchanged' : should
    end

    def set(_value)
      Puppet.warning("told #{resource[:says]}") if resource[:says]
    end
  end

  def generate
    [self[:makes]].flatten.compact.map { |path| Puppet::Type.type(:file).new(path: path, content: "made\n") }
  end
end
"""

FILES = {
    "lib/puppet/type/bridge_cell.rb": _CELL,
    "lib/puppet/provider/bridge_cell/json.rb": _CELL_PROVIDER,
    "lib/cells/notes.rb": _NOTES,
    "lib/puppet/type/bridge_probe.rb": _PROBE,
}


def write_module(directory: Path) -> Path:
    """Write the module below a directory of modules, which is returned."""
    for name, text in FILES.items():
        place = directory / NAME / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return directory


def pinned(directory: Path, *modules: str) -> dict[str, str]:
    """The digests of all files below `lib` of modules, as a catalog has them."""
    places = [
        place for module in modules for place in sorted((directory / module / "lib").rglob("*")) if place.is_file()
    ]
    return {
        f"{PLUGIN_SCHEME}{place.relative_to(directory)}": hashlib.sha256(place.read_bytes()).hexdigest()
        for place in places
    }


def cell(title: str, store: Path | str, **parameters: Any) -> Mapping[str, Any]:
    """A resource of a catalog in JSON."""
    return {
        "type": "Bridge_cell",
        "title": title,
        "parameters": {"ensure": "present", "store": str(store), **parameters},
    }


def probe(title: str, does: str, **parameters: Any) -> Mapping[str, Any]:
    return {"type": "Bridge_probe", "title": title, "parameters": {"does": does, **parameters}}
