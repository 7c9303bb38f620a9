# What a plan refuses, before anything is made. A run has one mistake for each of its
# variables, as all are looked at.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  token = "0123456789abcdef0123456789abcdef"
}

run "out_of_range" {
  command = plan

  variables {
    name        = "Lab"
    region      = "ap-northeast-2a"
    topology    = "my.yaml"
    size        = "medium"
    max_hours   = 96
    token       = "secret"
    spot        = true
    fis_enabled = true
  }

  expect_failures = [var.name, var.region, var.topology, var.size, var.max_hours, var.token, var.fis_enabled]
}

run "out_of_range_at_the_other_end" {
  command = plan

  variables {
    name        = "amzn-lab" # a prefix that AWS keeps to itself
    region      = "cn-north-1"
    host_counts = { worker = { b = 1 }, workers = { a = 1.5 } }
    max_hours   = 0.5
  }

  expect_failures = [var.name, var.region, var.host_counts, var.max_hours]
}

run "unknown_servers" {
  command = plan

  variables {
    servers = ["oracle", "etcd"] # the second has no package
  }

  expect_failures = [var.servers]
}

run "no_master" {
  command = plan

  variables {
    host_counts = { master = { a = 0, c = 0 } }
  }

  expect_failures = [var.host_counts]
}

run "another_architecture_than_the_types" {
  command = plan

  override_data {
    target = data.aws_ec2_instance_type.used["c7g.medium"]
    values = { supported_architectures = ["x86_64"], default_vcpus = 1, burstable_performance_supported = false }
  }

  expect_failures = [terraform_data.checked]
}

run "a_type_that_a_zone_does_not_offer" {
  command = plan

  override_data {
    target = data.aws_ec2_instance_type_offerings.zone["c"]
    values = { instance_types = ["c7g.large"] }
  }

  expect_failures = [terraform_data.checked]
}

run "more_than_the_quota" {
  command = plan

  override_data {
    target = data.aws_servicequotas_service_quota.vcpus["on-demand"]
    values = { value = 5 }
  }

  expect_failures = [terraform_data.checked]
}

run "more_than_the_hard_stop_ends" {
  command = plan

  variables {
    host_counts = { worker = { a = 20, c = 20 } }
    check_quota = false # which does not ask
  }

  expect_failures = [terraform_data.checked]
}
