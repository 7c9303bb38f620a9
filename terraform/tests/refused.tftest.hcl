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
    name                 = "Lab"
    region               = "ap-northeast-2a"
    architecture         = "amd64"
    vpc_cidr             = "10.75.3.0/16"
    host_counts          = { worker = { b = 1 } }
    instance_types       = { driver = "c7g.large" }
    instance_type        = "small"
    driver_instance_type = "large"
    packages             = { redis = ["redis6; reboot"] }
    max_hours            = 96
    volume_gib           = 7
    fis_minutes          = 61
    token                = "secret"
    token_version        = 0
    commit               = "main; reboot"
  }

  expect_failures = [var.name, var.region, var.architecture, var.vpc_cidr, var.host_counts, var.instance_types, var.instance_type, var.driver_instance_type, var.packages, var.max_hours, var.volume_gib, var.fis_minutes, var.token, var.token_version, var.commit]
}

run "out_of_range_at_the_other_end" {
  command = plan

  variables {
    name        = "abcdefghijklmnopqrstu"
    vpc_cidr    = "10.75.0.0/24"
    host_counts = { worker = { a = 1.5 } }
    max_hours   = 0.5
    volume_gib  = 8.5
    fis_minutes = 0
  }

  expect_failures = [var.name, var.vpc_cidr, var.host_counts, var.max_hours, var.volume_gib, var.fis_minutes]
}

run "names_that_begin_with_ssm" {
  command = plan

  variables {
    name        = "ssm-lab"
    host_counts = { master = { a = 0, c = 0 } }
    vpc_cidr    = "10.75.0.0"
  }

  expect_failures = [var.name, var.host_counts, var.vpc_cidr]
}

run "names_that_begin_with_aws" {
  command = plan

  variables {
    name        = "awslab"
    host_counts = { workers = { a = 1 } }
  }

  expect_failures = [var.name, var.host_counts]
}

run "names_that_begin_with_sg" {
  command = plan

  variables {
    name        = "sg-lab"
    host_counts = { worker = { a = 21 } }
  }

  expect_failures = [var.name, var.host_counts]
}

run "names_of_documents_that_are_amazons" {
  command = plan

  variables {
    name = "amzn-lab"
  }

  expect_failures = [var.name]
}

run "names_that_no_bucket_begins_with" {
  command = plan

  variables {
    name = "sthree-lab"
  }

  expect_failures = [var.name]
}

run "an_unknown_topology" {
  command = plan

  variables {
    topology = "my.yaml"
  }

  expect_failures = [var.topology]
}

run "an_unknown_server" {
  command = plan

  variables {
    servers = ["oracle"]
  }

  expect_failures = [var.servers]
}

run "a_server_without_a_package" {
  command = plan

  variables {
    servers = ["etcd"]
  }

  expect_failures = [var.servers]
}

run "spot_cannot_be_stopped" {
  command = plan

  variables {
    spot        = true
    fis_enabled = true
  }

  expect_failures = [var.fis_enabled]
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

  variables {
    topology = "seoul-3az"
  }

  override_data {
    target = data.aws_ec2_instance_type_offerings.zone["b"]
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

run "a_quota_that_nobody_may_read" {
  command = plan

  variables {
    check_quota = false
  }

  override_data {
    target = data.aws_servicequotas_service_quota.vcpus
    values = { value = 5 }
  }

  assert {
    condition     = length(data.aws_servicequotas_service_quota.vcpus) == 0
    error_message = "check_quota = false does not ask"
  }
}
